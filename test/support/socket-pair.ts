import { dlopen, ptr } from "bun:ffi"

const AF_UNIX = 1
const SOCK_STREAM = 1

/** Descriptors of two sockets that are connected with each other: socketpair(2). */
export function socketPair(): [number, number] {
  const { symbols } = dlopen("libc.so.6", {
    socketpair: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
  })
  const pair = new Int32Array(2)
  if (symbols.socketpair(AF_UNIX, SOCK_STREAM, 0, ptr(pair)) !== 0) throw new Error("no pair of sockets")
  return [pair[0]!, pair[1]!]
}
