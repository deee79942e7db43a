import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { post } from "./http-socket.ts"
import { Random } from "./random.ts"

/** The bytes of one case, in the pieces that they are to be written in. */
export type Pieces = readonly Buffer[]

/** Makes the case of a number: for one seed and number it is always the same. */
export function mutatedRequest(seed: number, number: number): Pieces {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b))
  let bytes = validRequest(random, number)
  for (let left = 1 + random.below(1 + random.below(4)); left > 0; left--)
    bytes = random.pick(MUTATIONS)(bytes, random)
  return random.below(4) === 0 ? inPieces(bytes, random) : [bytes]
}

const CODINGS = [
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
] as const

function validRequest(random: Random, number: number): Buffer {
  const body = `{"n":${number},"text":"${"grün ".repeat(random.below(40))}","list":[1,2.5e3,{"a":null}]}`
  const length = (of: string | Buffer): string => `Content-Length: ${Buffer.byteLength(of)}`
  switch (random.below(7)) {
    case 0: {
      const [coding, encode] = random.pick(CODINGS)
      const encoded = encode(Buffer.from(body))
      return Buffer.concat([Buffer.from(post(`Content-Encoding: ${coding}`, length(encoded))), encoded])
    }
    case 1:
      return Buffer.from(post("Transfer-Encoding: chunked") + inChunks(body, random), "latin1")
    case 2:
      return Buffer.from(post("Expect: 100-continue", length(body)) + body)
    case 3:
      return Buffer.from(`GET /webhook?a=%20b HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n`)
    case 4:
      return Buffer.from(`${post(length(body))}${body}`.repeat(2 + random.below(3)))
    default:
      return Buffer.from(
        post("Content-Type: application/json", "User-Agent: sender/1.0", "X-Id: 7", length(body)) + body,
      )
  }
}

function inChunks(text: string, random: Random): string {
  const bytes = Buffer.from(text)
  let chunks = ""
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + 1 + random.below(60))
    chunks += `${(end - at).toString(16)}\r\n${bytes.toString("latin1", at, end)}\r\n`
    at = end
  }
  return `${chunks}0\r\n\r\n`
}

type Mutation = (bytes: Buffer, random: Random) => Buffer

const replace = (bytes: Buffer, at: number, length: number, by: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(at + length)])

/** What parsers stumble over: line ends, separators, NUL, what is beyond ASCII, digits. */
const TELLING = [0, 9, 10, 13, 32, 34, 44, 45, 48, 57, 58, 59, 91, 92, 123, 125, 127, 128, 255]
const TELLING_TEXTS = [
  "\r\n",
  "\r\n\r\n",
  "\n\n",
  "\r\n ",
  "0\r\n\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding:\tchunked\r\n",
  "Content-Length: 0\r\n",
  "Content-Length: 99999999999999999999\r\n",
  "Content-Encoding: gzip\r\n",
  "Expect: 100-continue\r\n",
  "Connection: close\r\n",
  "Upgrade: websocket\r\nConnection: Upgrade\r\n",
  "Host: other\r\n",
  "HTTP/1.0",
  "/../",
  "\\..\\",
  "%2e%2e/",
  "http://other",
  "\\u0000",
  "\\ud800",
  "]]]]",
  "[[[[",
  "1e999",
]

const MUTATIONS: readonly Mutation[] = [
  function flipBit(bytes, random) {
    const flipped = Buffer.from(bytes)
    if (flipped.length > 0) flipped[random.below(flipped.length)]! ^= 1 << random.below(8)
    return flipped
  },
  function overwrite(bytes, random) {
    return replace(bytes, random.below(bytes.length + 1), 1, Buffer.from([random.pick(TELLING)]))
  },
  function insertBytes(bytes, random) {
    const more = Uint8Array.from({ length: 1 + random.below(20) }, () => random.below(256))
    return replace(bytes, random.below(bytes.length + 1), 0, more)
  },
  function insertText(bytes, random) {
    return replace(bytes, random.below(bytes.length + 1), 0, Buffer.from(random.pick(TELLING_TEXTS)))
  },
  function addHeader(bytes, random) {
    const line = Math.max(0, bytes.indexOf("\r\n")) + 2
    const text = random.below(40) === 0 ? `X-Long: ${"a".repeat(20_000)}\r\n` : random.pick(TELLING_TEXTS)
    return replace(bytes, line, 0, Buffer.from(text))
  },
  function removeBytes(bytes, random) {
    return replace(bytes, random.below(bytes.length + 1), 1 + random.below(30), new Uint8Array())
  },
  function doubleLine(bytes, random) {
    const start = bytes.indexOf("\n", random.below(bytes.length + 1)) + 1
    const end = bytes.indexOf("\n", start) + 1
    return end === 0 ? bytes : replace(bytes, start, 0, bytes.subarray(start, end))
  },
  function doubleRange(bytes, random) {
    const start = random.below(bytes.length + 1)
    return replace(bytes, start, 0, bytes.subarray(start, start + 1 + random.below(50)))
  },
  function otherNumber(bytes, random) {
    const text = bytes.toString("latin1")
    const numbers = [...text.matchAll(/\d+/g)]
    if (numbers.length === 0) return bytes
    const { 0: digits, index } = random.pick(numbers)
    const other = random.pick(["0", "1", "-1", "+1", "0x10", "00", "4294967296", "9".repeat(30), "1e3", ""])
    return replace(bytes, index, digits.length, Buffer.from(other))
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, random.below(bytes.length + 1))
  },
  function append(bytes, random) {
    return Buffer.concat([
      bytes,
      Buffer.from(random.pick([...TELLING_TEXTS, "{}", "GET / HTTP/1.1\r\n\r\n"])),
    ])
  },
]

function inPieces(bytes: Buffer, random: Random): Pieces {
  const cut = random.below(bytes.length + 1)
  return [bytes.subarray(0, cut), bytes.subarray(cut)].filter((piece) => piece.length > 0)
}
