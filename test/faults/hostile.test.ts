import { afterAll, beforeAll, expect, test } from "bun:test"
import { once } from "node:events"
import { readdirSync } from "node:fs"
import { connect } from "node:net"
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { forgetPeak, peakMiB, residentMiB } from "../../bench/process.ts"
import { isFull } from "../support/fault-table.ts"
import { hookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { openSocket, post, type RawSocket } from "../support/http-socket.ts"
import { Random } from "../support/random.ts"
import { ON_LOG, startService } from "../support/webhook-service.ts"

/** What one hostile sender may make the resident memory peak by. Brotli's window alone is 16 MiB. */
const PEAK_MIB = 64
const CHUNKED = "Transfer-Encoding: chunked"
const FLOOD_BYTES = isFull ? 500_000_000 : 50_000_000

const folder = temporaryFolder()
let running: RunningHookline
let port: number
let published = 0

beforeAll(async () => {
  running = await startService({ folder: folder.path, ...ON_LOG })
  port = Number(new URL(running.urls["webhooks"]!).port)
  for (let n = 0; n < 500; n++) await expectHealthy()
})
afterAll(async () => {
  await running.stop()
  const { stdout } = await hookline(["topics", "-c", `${folder.path}/pipelines.conf`])
  folder[Symbol.dispose]()
  // nothing but what was answered 200 is there
  expect(stdout).toMatch(new RegExp(`^broker/webhooks +\\d+ +${published}\\b`, "m"))
  expect(running.log.filter(({ level }) => level === "error" || level === "fatal")).toEqual([])
})

async function send(body: string | Uint8Array<ArrayBuffer>, coding?: string): Promise<number> {
  const headers = coding === undefined ? {} : { "Content-Encoding": coding }
  const { status } = await fetch(running.urls["webhooks"]!, { method: "POST", body, headers })
  if (status === 200) published++
  return status
}

const expectHealthy = async (): Promise<void> => expect(await send("{}")).toBe(200)

/** Runs an attack; what it makes the memory peak by is bounded and printed, and everybody else is served after it. */
async function withstands<T>(name: string, attack: () => Promise<T>): Promise<T> {
  const before = residentMiB(running.pid)
  forgetPeak(running.pid)
  const result = await attack()
  const grownMiB = peakMiB(running.pid) - before
  process.stdout.write(`hostile: ${name}: resident memory peaked ${grownMiB.toFixed(0)} MiB higher\n`)
  expect(grownMiB).toBeLessThan(PEAK_MIB)
  await expectHealthy()
  return result
}

const endless = (head: string, unit: string | Uint8Array) => ({ head, unit: Buffer.from(unit) })
const random = new Random(1)
const noise = Uint8Array.from({ length: 10_000 }, () => random.below(256))
const begun = (...lines: string[]): string => post(...lines).slice(0, -2)

test.each([
  ["100 KB in one header", endless(begun(), `X-Long: ${"a".repeat(100_000)}\r\n`), 431],
  ["10,000 headers and more", endless(begun(), "a: b\r\n".repeat(10_000)), 431],
  ["a request target without an end", endless("POST /", "a".repeat(10_000)), 431],
  ["a chunk extension without an end", endless(`${post(CHUNKED)}1;`, "a".repeat(10_000)), 413],
  ["chunks of one byte without an end", endless(post(CHUNKED), "1\r\nx\r\n".repeat(1000)), 413],
  ["a declared body of a terabyte", endless(post("Content-Length: 1099511627776"), "x".repeat(65_536)), 413],
  [
    "a body without an end for nobody",
    endless(post(CHUNKED).replace("webhook", "x"), `1000\r\n${"x".repeat(4096)}\r\n`),
    404,
  ],
  [
    "a body without an end in an unknown coding",
    endless(post(CHUNKED, "Content-Encoding: x"), `1000\r\n${"x".repeat(4096)}\r\n`),
    415,
  ],
  ["TLS", endless("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", noise), 400],
  ["random bytes", endless("", noise), 400],
])("%s: answered, and not kept", async (name, { head, unit }, status) => {
  const { takenBytes, answer } = await withstands(name, () =>
    flood({ port, head, unit, mostBytes: FLOOD_BYTES }),
  )
  // a reset may overtake the answer of a connection that the server ends
  if (answer === "") expect(takenBytes).toBeLessThan(FLOOD_BYTES)
  else expect(answer).toStartWith(`HTTP/1.1 ${status} `)
})

test("answers that are never read are not heaped up", async () => {
  const unit = Buffer.from("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000))
  const { takenBytes } = await withstands("answers that are never read", () =>
    flood({ port, head: "", unit, mostBytes: FLOOD_BYTES, reads: false }),
  )
  expect(takenBytes).toBeLessThan(FLOOD_BYTES)
})

const zeros = Buffer.alloc(64 * 1024 * 1024)
test.each([
  ["gzip", gzipSync(zeros)],
  ["deflate", deflateSync(zeros)],
  ["br", brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } })],
  ["zstd", zstdCompressSync(zeros)],
])("64 bombs of %s at once are answered 413", async (coding, bomb) => {
  const statuses = await withstands(`64 bombs of ${coding}, ${bomb.length} bytes each`, () =>
    Promise.all(Array.from({ length: 64 }, () => send(bomb, coding))),
  )
  expect([...new Set(statuses)]).toEqual([413])
})

const DEEP = 500_000
test.each([
  ["lists", `{"a":${"[".repeat(DEEP)}${"]".repeat(DEEP)}}`, 200],
  ["objects", `${'{"":'.repeat(100_000)}1${"}".repeat(100_000)}`, 200],
  ["lists that do not end", `{"a":${"[".repeat(DEEP)}`, 400],
  ["commas and brackets", `{"a":[${"[],".repeat(300_000)}1]}`, 200],
  ["names that are all the same", `{${'"source":1,'.repeat(80_000)}"a":1}`, 200],
  ["escaped names", `{${'"\\u0073ource":1,'.repeat(60_000)}"a":1}`, 200],
])("a body of half a million %s costs neither stack nor memory", async (name, body, status) => {
  expect(await withstands(name, () => send(body))).toBe(status)
})

test("2,000 connections with half a header section, half a body or nothing leave no trace", async () => {
  const descriptors = (): number => readdirSync(`/proc/${running.pid}/fd`).length
  const before = descriptors()
  await withstands("2,000 connections that say nothing more", async () => {
    const open: RawSocket[] = []
    let over = 0
    for (let n = 0; n < 2000; n++) {
      const socket = await openSocket(port)
      void socket.ended.then(() => over++)
      open.push(socket)
    }
    for (const [at, socket] of open.entries()) {
      const part = [begun(), `${post("Content-Length: 1000")}{`, ""][at % 3]!
      socket.send(part)
    }
    await expectHealthy()
    // all of them are there at once, as far as they have not been ended for want of a header section
    while (descriptors() + over < before + 1900) await Bun.sleep(10)
    for (const socket of open) socket[Symbol.dispose]()
  })
  // what the connections of the healthy requests take may vary
  while (descriptors() > before + 10) await Bun.sleep(10)
  const metrics = async (): Promise<string> => (await fetch(`${running.adminUrl}/metrics`)).text()
  while (!(await metrics()).includes("\nhookline_in_flight_bytes 0\n"));
})

interface Flood {
  readonly port: number
  /** Sent once, first. */
  readonly head: string
  /** Sent again and again after it. */
  readonly unit: Uint8Array
  readonly mostBytes: number
  /** Whether what the other side answers is taken. */
  readonly reads?: boolean
}

const STUCK_MS = 5000
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
 * Sends as much as the other side takes, until it ends the connection, takes nothing for five seconds or has taken it all.
 *
 * @returns how much it took, and the beginning of what it answered, a character a byte
 */
async function flood({ port, head, unit, mostBytes, reads = true }: Flood): Promise<{
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
  if (reads && !socket.destroyed) await Promise.race([answered.promise, end.promise])
  socket.destroy()
  return { takenBytes, answer }
}
