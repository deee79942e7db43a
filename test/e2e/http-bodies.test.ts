import { describe, expect, spyOn, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { inChunks, serve } from "../support/http-server.ts"
import { openSocket, post } from "../support/http-socket.ts"

const send = (
  url: string,
  body: Uint8Array | string,
  headers: { [name: string]: string } = {},
): Promise<Response> => fetch(`${url}/webhook`, { method: "POST", body, headers })

/** As chunks, without a declared length. */
const streamed = (url: string, chunks: readonly string[]): Promise<Response> =>
  fetch(`${url}/webhook`, { method: "POST", body: inChunks(chunks) })

const nothingHeld = { requests: 0, bytes: 0 }

test("a body of exactly max_body_bytes is accepted, one byte more is answered 413", async () => {
  await using it = serve({ maxBodyBytes: 1000 })
  expect((await send(it.url, "x".repeat(1000))).status).toBe(200)
  const answer = await send(it.url, "x".repeat(1001))
  expect([answer.status, answer.headers.get("content-type")]).toEqual([413, "application/problem+json"])
  expect((await streamed(it.url, ["x".repeat(999), "x"])).status).toBe(200)
  expect((await streamed(it.url, ["x".repeat(999), "x", "x"])).status).toBe(413)
  expect(it.events.map((event) => event.body.length)).toEqual([1000, 1000])
  expect(it.servers.inFlight()).toEqual(nothingHeld)
  expect(it.log.map(({ reason }) => reason)).toEqual(["body_too_large", "body_too_large"])
})

test("an empty body is an event, with and without a declared length", async () => {
  await using it = serve()
  for (const lines of [["Content-Length: 0"], [], ["Transfer-Encoding: chunked"]]) {
    using socket = await openSocket(it.port)
    socket.send(post(...lines) + (lines[0]?.startsWith("T") === true ? "0\r\n\r\n" : ""))
    expect(await socket.until(/\r\n\r\n/)).toStartWith("HTTP/1.1 200 ")
  }
  expect(it.events.map((event) => event.body.length)).toEqual([0, 0, 0])
})

test("a body in many small chunks arrives whole", async () => {
  await using it = serve()
  const chunks = Array.from({ length: 3000 }, (_, i) => `${i},`.repeat(7))
  expect((await streamed(it.url, chunks)).status).toBe(200)
  expect(Buffer.from(it.events[0]!.body).toString()).toBe(chunks.join(""))
})

test("chunks of one byte are read by many at once, not one by one", async () => {
  await using it = serve()
  using reads = spyOn(ReadableStreamDefaultReader.prototype, "read")
  using socket = await openSocket(it.port)
  socket.send(post("Transfer-Encoding: chunked") + "1\r\nx\r\n".repeat(100_000) + "0\r\n\r\n")
  expect(await socket.until(/\r\n\r\n/)).toStartWith("HTTP/1.1 200 ")
  expect(it.events[0]!.body.length).toBe(100_000)
  expect(reads.mock.calls.length).toBeWithin(1, 1000)
})

test("a declared length over the limit is answered before any of the body", async () => {
  await using it = serve({ maxBodyBytes: 1000 })
  using socket = await openSocket(it.port)
  socket.send(post("Content-Length: 999999999999"))
  expect(await socket.until(/\}$/)).toStartWith("HTTP/1.1 413 ")
})

test("a client that writes its whole body before it reads still gets the 413", async () => {
  await using it = serve({ maxBodyBytes: 1000 })
  using socket = await openSocket(it.port)
  socket.send(post("Content-Length: 20000000"))
  socket.send(new Uint8Array(20_000_000))
  socket.send(post("Content-Length: 2") + "{}")
  expect(await socket.until(/HTTP\/1.1 413 [^]*HTTP\/1.1 200 /)).not.toContain(" 400 ")
  expect(it.events).toHaveLength(1)
})

test("equal repeated Content-Length headers are one", async () => {
  await using it = serve({ maxBodyBytes: 2 })
  using socket = await openSocket(it.port)
  socket.send(post("Content-Length: 2", "Content-Length: 2") + "{}")
  expect(await socket.until(/\r\n\r\n/)).toStartWith("HTTP/1.1 200 ")
  expect(Buffer.from(it.events[0]!.body).toString()).toBe("{}")
})

const text = JSON.stringify({ numbers: [...Array(500).keys()] })
const encodings: readonly (readonly [name: string, coding: string, encode: (text: string) => Uint8Array])[] =
  [
    ["gzip", "gzip", gzipSync],
    ["gzip by its old name, in capitals", "X-GZIP", gzipSync],
    ["deflate", "deflate", deflateSync],
    ["deflate without its wrapping", "deflate", deflateRawSync],
    ["br", "br", brotliCompressSync],
    ["zstd", "zstd", zstdCompressSync],
    ["identity", "identity", Buffer.from],
  ]

describe.each(encodings)("%s", (_name, coding, encode) => {
  test("is decoded, from a declared length and from chunks", async () => {
    await using it = serve({ maxBodyBytes: text.length })
    const encoded = encode(text)
    expect((await send(it.url, encoded, { "Content-Encoding": coding })).status).toBe(200)
    const chunked = {
      method: "POST",
      body: inChunks([encoded]),
      headers: { "Content-Encoding": coding },
    }
    expect((await fetch(`${it.url}/webhook`, chunked)).status).toBe(200)
    expect(it.events.map((event) => Buffer.from(event.body).toString())).toEqual([text, text])
    expect(it.servers.inFlight()).toEqual(nothingHeld)
  })

  test("holds the limit after decoding too", async () => {
    await using it = serve({ maxBodyBytes: text.length - 1 })
    expect((await send(it.url, encode(text), { "Content-Encoding": coding })).status).toBe(413)
    expect(it.events).toHaveLength(0)
  })
})

test.each(encodings.filter(([, coding]) => coding !== "identity"))(
  "%s is answered 400 when it is cut short or followed by something",
  async (_name, coding, encode) => {
    await using it = serve()
    const encoded = encode(text)
    const broken = [0, 1, 3, 10, encoded.length - 5, encoded.length - 1].map((end) =>
      encoded.subarray(0, end),
    )
    for (const body of [...broken, Buffer.concat([encoded, Buffer.from("more")])]) {
      const answer = await send(it.url, body, { "Content-Encoding": coding })
      expect([body.length, answer.status]).toEqual([body.length, 400])
    }
    expect(it.events).toHaveLength(0)
    expect(new Set(it.log.map(({ reason }) => reason))).toEqual(new Set(["invalid_encoding"]))
    expect(it.servers.inFlight()).toEqual(nothingHeld)
  },
)

test.each(["compress", "gzip, br", "gzip;q=1", "constructor"])(
  "content encoding %p is answered 415",
  async (coding) => {
    await using it = serve()
    const answer = await send(it.url, "{}", { "Content-Encoding": coding })
    expect(answer.status).toBe(415)
    expect(answer.headers.get("accept-encoding")).toBe("gzip, deflate, br, zstd")
  },
)

test.each(encodings.filter(([, coding]) => coding !== "identity"))(
  "%s that expands beyond what deflate can is answered 413, and what deflate can is accepted",
  async (_name, coding, encode) => {
    await using it = serve({ maxBodyBytes: 8 * 1024 * 1024 })
    const compressed = encode("x".repeat(8 * 1024 * 1024))
    const isMore = compressed.length * 1032 < 8 * 1024 * 1024
    expect(isMore).toBe(["br", "zstd"].includes(coding))
    const answer = await send(it.url, compressed, { "Content-Encoding": coding })
    expect(answer.status).toBe(isMore ? 413 : 200)
    if (isMore) expect(it.log).toMatchObject([{ reason: "compression_ratio" }])
    expect((await send(it.url, encode("x".repeat(60_000)), { "Content-Encoding": coding })).status).toBe(200)
  },
)

test.skipIf(process.platform !== "linux").each([
  ["gzip", gzipSync],
  ["zstd", zstdCompressSync],
] as const)("a %s bomb costs no more memory than the limit", async (coding, encode) => {
  await using it = serve()
  const mebibyte = encode(new Uint8Array(1024 * 1024))
  const bomb = Buffer.concat(Array.from({ length: 500 }, () => mebibyte))
  expect(bomb.length).toBeLessThan(1024 * 1024)
  // the peak is counted from here on
  writeFileSync("/proc/self/clear_refs", "5")
  const before = process.memoryUsage.rss()
  expect((await send(it.url, bomb, { "Content-Encoding": coding })).status).toBe(413)
  const peakKiB = Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))![1])
  expect(peakKiB * 1024 - before).toBeLessThan(32 * 1024 * 1024)
})
