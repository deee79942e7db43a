/** Reads what an executable is for from its header, so that a file for another machine can be checked on this one. */

/** ELF's `e_machine` (elf(5)) and Mach-O's `cputype` (mach/machine.h). */
const ELF_MACHINES: { readonly [machine: number]: string } = { 62: "x64", 183: "arm64" }
const MACH_CPUS: { readonly [cpu: number]: string } = { 0x0100_0007: "x64", 0x0100_000c: "arm64" }
const PT_INTERP = 3
const LC_LOAD_DYLINKER = 0xe
const LC_CODE_SIGNATURE = 0x1d

/** What loads and runs an executable. */
export interface Executable {
  readonly format: "ELF" | "Mach-O"
  readonly architecture: string
  /** The program that links it when it starts: that of a C library. */
  readonly linker: string
  /** Whether a code signature is in it, which macOS demands; ELF has none. */
  readonly isSigned: boolean
}

/** Reads a 64-bit, little-endian executable. */
export function readExecutable(bytes: Uint8Array): Executable {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = view.getUint32(0, true)
  if (magic === 0x464c457f) return readElf(view, bytes)
  if (magic === 0xfeedfacf) return readMachO(view, bytes)
  throw new Error(`neither ELF nor 64-bit Mach-O: it begins with 0x${magic.toString(16)}`)
}

function readElf(view: DataView, bytes: Uint8Array): Executable {
  const [table, size, count] = [
    Number(view.getBigUint64(32, true)),
    view.getUint16(54, true),
    view.getUint16(56, true),
  ]
  const headers = Array.from({ length: count }, (_, n) => table + n * size)
  const interpreter = headers.find((at) => view.getUint32(at, true) === PT_INTERP)
  if (interpreter === undefined) throw new Error("an ELF file without a program interpreter")
  const architecture = ELF_MACHINES[view.getUint16(18, true)] ?? "unknown"
  const linker = textAt(bytes, Number(view.getBigUint64(interpreter + 8, true)))
  return { format: "ELF", architecture, linker, isSigned: false }
}

function readMachO(view: DataView, bytes: Uint8Array): Executable {
  let [linker, isSigned] = ["", false]
  for (let at = 32, left = view.getUint32(16, true); left > 0; left--) {
    const command = view.getUint32(at, true)
    if (command === LC_LOAD_DYLINKER) linker = textAt(bytes, at + view.getUint32(at + 8, true))
    if (command === LC_CODE_SIGNATURE) isSigned = true
    at += view.getUint32(at + 4, true)
  }
  return { format: "Mach-O", architecture: MACH_CPUS[view.getUint32(4, true)] ?? "unknown", linker, isSigned }
}

const textAt = (bytes: Uint8Array, at: number): string =>
  Buffer.from(bytes.subarray(at, bytes.indexOf(0, at))).toString("latin1")
