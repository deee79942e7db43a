import { connect } from "node:net"
import { once } from "node:events"

export interface Flood {
  readonly port: number
  /** Sent once, first. */
  readonly head: string
  /** Sent again and again after it. */
  readonly unit: Uint8Array
  readonly mostBytes: number
  /** Whether what the other side answers is taken. */
  readonly reads?: boolean
}

const STUCK_MS = 2000
/** What a promise gives, or false when the other side had its time. */
async function inTime<T>(promise: Promise<T>): Promise<T | false> {
  const { promise: late, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(resolve, STUCK_MS, false)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Sends as much as the other side takes, until it ends the connection, takes nothing for two seconds or has taken it all.
 *
 * @returns how much it took, and the beginning of what it answered, a character a byte
 */
export async function flood({ port, head, unit, mostBytes, reads = true }: Flood): Promise<{
  takenBytes: number
  answer: string
}> {
  const socket = connect(port, "127.0.0.1")
  let answer = ""
  const end = Promise.withResolvers<void>()
  // a reset is an end as well
  socket.on("error", () => end.resolve()).on("close", () => end.resolve())
  await Promise.race([once(socket, "connect"), end.promise])
  const answered = Promise.withResolvers<void>()
  if (reads)
    socket.on("data", (data) => {
      answer = (answer + data.toString("latin1")).slice(0, 1000)
      answered.resolve()
    })
  else socket.pause()
  socket.write(head)
  let takenBytes = 0
  while (!socket.destroyed && takenBytes < mostBytes) {
    if (!socket.write(unit)) {
      const drained = new Promise<boolean>((done) => socket.once("drain", () => done(true)))
      const goesOn = await inTime(Promise.race([drained, end.promise.then(() => false)]))
      if (!goesOn) break
    }
    takenBytes += unit.length
  }
  // all may be sent before there was a turn to read
  if (reads && !socket.destroyed) await inTime(Promise.race([answered.promise, end.promise]))
  socket.destroy()
  return { takenBytes, answer }
}
