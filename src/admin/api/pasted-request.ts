import { Buffer, isUtf8 } from "node:buffer"
import { split } from "shlex"
import { HooklineError } from "../../errors.ts"
import { headerBytes, headerText, toHeaderValue } from "../../headers.ts"
import { eventHeaders, presetOf } from "../../verify/senders.ts"
import { findFamily, PROVIDER_NAMES, usualCoverage } from "../../verify/verification.ts"
import { Header, misfit, Type, type Static } from "./shape.ts"

/** A request as somebody pasted it. */
export interface PastedRequest {
  readonly method: string | undefined
  /** Absolute, or a path; undefined: it is not known. */
  readonly url: string | undefined
  readonly headers: Headers
  readonly body: Uint8Array
}

const PASTED_FORMS =
  "a curl command, a raw HTTP request, its headers and after an empty line the body, or JSON with headers and body"

const usage = (message: string): HooklineError => new HooklineError("usage", message)

/** Reads a file that a curl command names. @throws HooklineError `no_input` */
type ReadFile = (file: string) => Buffer

/**
 * Parses a curl command, a raw HTTP request, its headers and body, or the JSON of a log.
 *
 * @param readFile undefined: files are those of somebody else
 * @throws HooklineError `usage`, and what `readFile` throws
 */
export function parsePasted(pasted: Uint8Array, readFile: ReadFile | undefined): PastedRequest {
  const text = Buffer.from(pasted.buffer, pasted.byteOffset, pasted.byteLength)
  const start = text.subarray(0, 4096).toString("latin1").trimStart()
  if (/^(\$ +)?curl\s/.test(start)) return ofCurl(text.toString().trim().replace(/^\$ +/, ""), readFile)
  if (start.startsWith("{")) return ofJson(text.toString())
  return ofHttp(text)
}

// ---- curl

/** Options of curl with a value that says nothing of the request. */
const OTHER_VALUES =
  /^(-[oAembwxKTcE]|--(output|user-agent|max-time|cookie|write-out|proxy|connect-timeout|retry|cacert|cert|key|resolve))$/
/** Options of which curl makes a body that the command does not have. */
const MADE = /^(-F|--form|--form-string|--data-urlencode)$/
const DATA = /^(-d|--data|--data-raw|--data-binary|--data-ascii|--json)$/

function ofCurl(command: string, readFile: ReadFile | undefined): PastedRequest {
  const words = shellWords(command).slice(1).flatMap(splitOption)
  const headers = new Headers()
  const data: Uint8Array[] = []
  let method: string | undefined
  let url: string | undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    const value = (): string => {
      const next = words[++at]
      if (next === undefined) throw usage(`the pasted curl command ends after ${word}`)
      return next
    }
    if (word === "|" || word === ">" || word === ";" || word === "&&") break
    if (word === "-H" || word === "--header") addCurlHeader(headers, value())
    else if (word === "-X" || word === "--request") method = value()
    else if (word === "--url") url = value()
    else if (word === "-u" || word === "--user")
      headers.set("authorization", `Basic ${Buffer.from(value()).toString("base64")}`)
    else if (DATA.test(word)) {
      data.push(dataOf(word, value(), readFile))
      if (word === "--json") headers.set("content-type", "application/json")
    } else if (MADE.test(word))
      throw usage(`the pasted curl command has ${word}: give the body that curl made of it with --body FILE`)
    else if (OTHER_VALUES.test(word)) value()
    else if (!word.startsWith("-")) url = word
  }
  const body = Buffer.concat(data.flatMap((it, index) => (index === 0 ? [it] : [Buffer.from("&"), it])))
  return { method, url, headers, body }
}

/** `Name:` leaves out a header that curl would add, `Name;` sends an empty one. */
function addCurlHeader(headers: Headers, text: string): void {
  if (!/^[^:;]+:\s*$/.test(text)) addHeader(headers, toHeaderValue(text.replace(/^([^:]+);$/, "$1:")))
}

/** As a POSIX shell takes them; nothing is expanded. */
function shellWords(command: string): string[] {
  try {
    return split(command.replaceAll(/\s\\\r?\n/g, " "))
  } catch (error) {
    throw usage(`the pasted curl command can't be read: ${(error as Error).message}`)
  }
}

/** `-XPOST` and `--data=…` as two words. */
function splitOption(word: string): readonly string[] {
  const [, long, given] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? []
  if (long !== undefined) return [long, given!]
  const [, short, rest] = /^(-[HXduF])(.+)$/s.exec(word) ?? []
  return short === undefined ? [word] : [short, rest!]
}

function dataOf(option: string, value: string, readFile: ReadFile | undefined): Uint8Array {
  if (option === "--data-raw" || !value.startsWith("@")) return Buffer.from(value)
  if (value === "@-")
    throw usage("the pasted curl command reads the body from a pipe: give it with --body FILE")
  if (readFile === undefined)
    throw usage("the pasted curl command reads the body from a file: paste it with the body itself")
  const content = readFile(value.slice(1))
  // as curl does
  return option === "-d" || option === "--data"
    ? Buffer.from(content.toString("latin1").replaceAll(/[\r\n]/g, ""), "latin1")
    : content
}

// ---- HTTP

function ofHttp(text: Buffer): PastedRequest {
  const from = text.findIndex((byte) => byte > 0x20)
  const end = /\r?\n\r?\n|$/.exec(text.subarray(from).toString("latin1"))!
  const head = text.subarray(from, from + end.index).toString("latin1")
  const body = text.subarray(from + end.index + end[0].length)
  const headers = new Headers()
  let method: string | undefined
  let url: string | undefined
  for (const [index, line] of head.split(/\r?\n/).entries()) {
    const request = index === 0 ? /^([A-Z]+) (\S+) HTTP\/[\d.]+$/.exec(line) : null
    // as GitHub lists them with a delivery
    const [, named, value] = /^Request (URL|method): *(.*)$/i.exec(line) ?? []
    if (request !== null) [method, url] = [request[1], headerText(request[2]!)]
    else if (named?.toLowerCase() === "url") url = headerText(value!)
    else if (named !== undefined) method = value
    else addHeader(headers, line)
  }
  return { method, url, headers, body: withoutPastedEnd(body, headers.get("content-length")) }
}

/** Without the line break that an editor or terminal puts after the last line. */
function withoutPastedEnd(body: Buffer, contentLength: string | null): Buffer {
  const length = Number(contentLength ?? Number.NaN)
  const rest = body.subarray(length).toString("latin1")
  if (length < body.length && rest.trim() === "") return body.subarray(0, length)
  const [end] = Number.isNaN(length) ? (/\r?\n$/.exec(body.toString("latin1")) ?? [""]) : [""]
  return body.subarray(0, body.length - end.length)
}

// ---- JSON

/** Members by the names that gateways and functions log them with. */
const LoggedRequest = Type.Object({
  headers: Type.Union([Type.Array(Header), Type.Object({})]),
  body: Type.Optional(Type.String()),
  body_base64: Type.Optional(Type.String()),
  isBase64Encoded: Type.Optional(Type.Boolean()),
  method: Type.Optional(Type.String()),
  httpMethod: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
})

function ofJson(text: string): PastedRequest {
  let logged: unknown
  try {
    logged = JSON.parse(text)
  } catch (error) {
    throw usage(`what was pasted begins like JSON and is not valid JSON: ${(error as Error).message}`)
  }
  const wrong = misfit(logged, LoggedRequest)
  if (wrong !== undefined)
    throw usage(`what was pasted is JSON, but not a request${wrong}; expected ${PASTED_FORMS}`)
  const { headers: found, body = "", body_base64: encoded, ...rest } = logged as Static<typeof LoggedRequest>
  const pairs = Array.isArray(found)
    ? found.map(({ name, value }): [string, unknown] => [name, value])
    : Object.entries<unknown>(found)
  const headers = new Headers()
  for (const [name, value] of pairs)
    for (const one of [value].flat()) addHeader(headers, ofLog(`${name}: ${one}`))
  return {
    method: rest.method ?? rest.httpMethod,
    url: rest.url,
    headers,
    body:
      encoded === undefined
        ? Buffer.from(body, rest.isBase64Encoded === true ? "base64" : "utf8")
        : Buffer.from(encoded, "base64"),
  }
}

/** A header in a log: it was decoded as UTF-8, or, as by Node.js, has a character for each byte, which then are UTF-8. */
function ofLog(text: string): string {
  const bytes = headerBytes(text)
  return isUtf8(bytes) ? bytes.toString("latin1") : toHeaderValue(text)
}

function addHeader(headers: Headers, line: string): void {
  const [, name, value] = /^\s*([^:\s]+):(.*)$/s.exec(line) ?? []
  try {
    if (name === undefined || value === undefined) throw new TypeError("no name and value")
    headers.append(name, value.trim())
  } catch (error) {
    throw new HooklineError(
      "usage",
      `what was pasted is not a request: a line is not a header; expected ${PASTED_FORMS}`,
      { cause: error },
    )
  }
}

/**
 * The sender whose signature's headers these are; of several, the one whose events have headers that the request has.
 *
 * @throws HooklineError `usage` for none or several
 */
export function senderOfHeaders(headers: Headers): string {
  const signers = PROVIDER_NAMES.filter((name) => {
    if (presetOf(name) === undefined) return false
    const { signature = [], credential } = usualCoverage(findFamily(name)!)
    const names = credential?.header === undefined ? signature : [...signature, credential.header]
    return names.length > 0 && names.every((it) => headers.has(it))
  })
  const senders = signers.filter((name) =>
    eventHeaders(presetOf(name)?.event ?? {}).some((it) => headers.has(it)),
  )
  const [first, ...others] = senders.length === 1 ? senders : signers
  if (first !== undefined && others.length === 0) return first
  const named = [first, ...others.slice(0, MOST_NAMED), ...(others.length > MOST_NAMED ? ["…"] : [])]
  throw usage(
    `the request's headers are ${first === undefined ? "not those of a known sender" : `those of ${named.join(", ")}`}: name the sender with --provider`,
  )
}

const MOST_NAMED = 9
