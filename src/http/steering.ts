import { dlopen, ptr } from "bun:ffi"
import { readdirSync, readlinkSync } from "node:fs"

/*
 * Which of several sockets that listen on one port (SO_REUSEPORT) new connections go to.
 *
 * A socket that stops listening resets the connections that it has not accepted yet. So that none is reset when a
 * certificate is replaced, all new connections are first led to the socket that stays: the kernel asks a program of one
 * instruction, "the one at this place" (SO_ATTACH_REUSEPORT_CBPF, since Linux 4.5). Without it, with a new certificate
 * every 50 ms under 1,500 connections a second, one connection was reset each time.
 *
 * The sockets of a port have places from 0, in the order in which they began to listen. When one ends, the last one
 * takes its place.
 */

const SOL_SOCKET = 1
const SO_ATTACH_REUSEPORT_CBPF = 51
/** BPF_RET | BPF_K of linux/bpf_common.h: return a constant. */
const RETURN = 0x06

/** Leads all new connections of the port that a socket listens on to the socket at a place. */
export type Steer = (fd: number, place: number) => boolean

/** What steers on this system; undefined: nothing does. Loads the C library. */
export function openSteering(): Steer | undefined {
  if (process.platform !== "linux") return undefined
  const arch = process.arch === "arm64" ? "aarch64" : "x86_64"
  for (const library of ["libc.so.6", `libc.musl-${arch}.so.1`]) {
    try {
      const { symbols } = dlopen(library, {
        setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
      })
      return (fd, place) => {
        // struct sock_filter { u16 code; u8 jt, jf; u32 k } in struct sock_fprog { u16 length; sock_filter *filter }
        const filter = new DataView(new ArrayBuffer(8))
        filter.setUint16(0, RETURN, true)
        filter.setUint32(4, place, true)
        const program = new DataView(new ArrayBuffer(16))
        program.setUint16(0, 1, true)
        program.setBigUint64(8, BigInt(ptr(filter)), true)
        return (
          symbols.setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, ptr(program), program.byteLength) === 0
        )
      }
    } catch {
      // another C library
    }
  }
  return undefined
}

/** The descriptors of this process's sockets, as Linux tells them. */
export function socketDescriptors(): Set<number> {
  const isSocket = (fd: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith("socket:")
    } catch {
      // the one that the folder itself was read through
      return false
    }
  }
  return new Set(readdirSync("/proc/self/fd").filter(isSocket).map(Number))
}
