import { dlopen, FFIType } from "bun:ffi"
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { hasTools, skipsFor } from "./tools.ts"

/** What a power cut leaves of the pages that no fsync has written: see disk-model.c. */
export type Kept = "none" | "all" | "some"

/** A folder whose disk is a model that a test can make fail. */
export interface ModelledDisk {
  /** Has that many calls fail, from the n-th write, truncation or fsync that comes now. */
  fail(n: number, calls: number): void
  /** How many have failed. */
  failed(): number
  /** Has that many reads fail, from the n-th that comes now; 0: none. */
  failReads(n: number, reads: number): void
  /** Makes of a folder, which is there and empty, what a power cut leaves now. */
  copy(target: string, kept: Kept, seed: number): void
  /** Halts at the n-th call that comes now, 0: at once: that write is torn, and nothing changes any more. */
  halt(n: number): void
  readonly isHalted: boolean
  /** Goes on after a halt, or takes one back. */
  resume(): void
  /** The most bytes that its files take together; 0: without limit. */
  limit(bytes: number): void
  /** Files that were put there past the model are durable now. */
  settle(): void
  /** Writes, truncations and fsyncs so far; fsyncs among them. */
  readonly calls: number
  readonly syncs: number
  /** Ends the model; what is written from now on is written as ever. */
  remove(): void
}

/** Whether the model can be compiled here. */
export const canModelDisks = (): boolean =>
  process.platform === "linux" ? hasTools("cc") : skipsFor("not Linux")

/**
 * Compiles the model into a folder. Undefined where `canModelDisks` is false.
 *
 * @returns the library, for LD_PRELOAD
 */
export function compileDiskModel(folder: string): string | undefined {
  if (!canModelDisks()) return undefined
  const library = join(folder, "disk-model.so")
  const source = join(import.meta.dir, "disk-model.c")
  const flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"]
  const { success, stderr } = Bun.spawnSync(["cc", ...flags])
  if (!success) throw new Error(`disk-model.c can't be compiled: ${stderr.toString()}`)
  return library
}

/** A folder of processes that a test starts with `env`, whose disk it can make fail. */
export interface OrderedDisk {
  readonly env: { readonly [name: string]: string }
  /** Whether its files can't be read from now on, all but what is in memory. */
  failReads(fail: boolean): void
  /** Whether locks on its files do nothing from now on. */
  ignoreLocks(ignore: boolean): void
}

/** @param library as of compileDiskModel @param orders a file, which is made @param folder its files, and those of its folders */
export function orderedDisk(library: string, orders: string, folder: string): OrderedDisk {
  writeFileSync(orders, Buffer.alloc(2))
  const order = (at: number, on: boolean): void => {
    const descriptor = openSync(orders, "r+")
    writeSync(descriptor, Buffer.from([on ? 1 : 0]), 0, 1, at)
    closeSync(descriptor)
  }
  return {
    env: { LD_PRELOAD: library, DISK_MODEL_ORDERS: orders, DISK_MODEL_FOLDER: folder },
    failReads: (fail) => order(0, fail),
    ignoreLocks: (ignore) => order(1, ignore),
  }
}

/** Given as bytes, which are kept for as long as the call takes. */
const cstring = FFIType.ptr
const i32 = FFIType.i32
const symbols = {
  disk_add: { args: [cstring, cstring], returns: i32 },
  disk_fail: { args: [i32, i32, i32], returns: FFIType.void },
  disk_fail_reads: { args: [i32, i32, i32], returns: FFIType.void },
  disk_failed: { args: [i32], returns: i32 },
  disk_copy: { args: [i32, cstring, i32, i32], returns: FFIType.void },
  disk_halt: { args: [i32, i32], returns: FFIType.void },
  disk_resume: { args: [i32], returns: i32 },
  disk_is_halted: { args: [i32], returns: i32 },
  disk_limit: { args: [i32, i32], returns: FFIType.void },
  disk_settle: { args: [i32], returns: FFIType.void },
  disk_calls: { args: [i32], returns: i32 },
  disk_syncs: { args: [i32], returns: i32 },
  disk_simulate_sleep: { args: [i32], returns: FFIType.void },
  disk_slept_ms: { args: [], returns: i32 },
  disk_remove: { args: [i32], returns: FFIType.void },
} as const

export interface DiskModel {
  add(folder: string, shadow: string): ModelledDisk
  /** Has this thread's waits, those of SQLite for a lock, take no time. */
  simulateSleep(on: boolean): void
  /** What it would have waited since the last call, in milliseconds. */
  sleptMs(): number
}

const KEEP: readonly Kept[] = ["none", "all", "some"]

/** The model that this process was started with. */
export function loadedDiskModel(): DiskModel {
  const model = dlopen(process.env.LD_PRELOAD!, symbols).symbols
  const text = (value: string): Buffer => Buffer.from(`${value}\0`)
  return {
    simulateSleep: (on) => model.disk_simulate_sleep(on ? 1 : 0),
    sleptMs: () => model.disk_slept_ms(),
    add(folder, shadow) {
      const id = model.disk_add(text(folder), text(shadow))
      return {
        fail: (n, calls) => model.disk_fail(id, n, calls),
        failed: () => model.disk_failed(id),
        failReads: (n, reads) => model.disk_fail_reads(id, n, reads),
        copy: (target, kept, seed) => model.disk_copy(id, text(target), KEEP.indexOf(kept), seed),
        halt: (n) => model.disk_halt(id, n),
        get isHalted() {
          return model.disk_is_halted(id) === 1
        },
        resume: () => void model.disk_resume(id),
        limit: (bytes) => model.disk_limit(id, bytes),
        settle: () => model.disk_settle(id),
        get calls() {
          return model.disk_calls(id)
        },
        get syncs() {
          return model.disk_syncs(id)
        },
        remove: () => model.disk_remove(id),
      }
    },
  }
}
