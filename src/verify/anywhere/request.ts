import type { VerificationResult, RefusedReason, SignedRequest, Verifier } from "../verifier.ts"
import { Verified } from "../verifier.ts"
import { headerBytes } from "../../headers.ts"

interface HeaderRecord {
  readonly [name: string]: string | readonly string[] | undefined
}

/** A webhook call as frameworks without Fetch's `Request` have it, such as Express and Fastify. */
export interface ReceivedRequest {
  /** Default: POST. */
  readonly method?: string | undefined
  /** The URL, or its path and query. */
  readonly url: string
  readonly headers: Headers | HeaderRecord
  /** As received: what a parser made of it can't be verified. */
  readonly body: string | Uint8Array
}

export interface RequestOptions {
  /** The URL that the sender posts to, where a proxy changes it. Only some senders sign it. */
  readonly url?: string | undefined
  /** The time to verify at, in milliseconds since 1970; default: now. */
  readonly now?: number | undefined
  /** The largest body, in bytes; default: 10 MiB. */
  readonly maxBodyBytes?: number | undefined
}

export type VerifyResult =
  | {
      readonly isVerified: true
      /** As received; the request's own body can still be read. */
      readonly body: Uint8Array
      /** The signed time. */
      readonly timestamp: Date | undefined
      /** The signed id: equal for redeliveries. */
      readonly id: string | undefined
      /** The index of the secret or key that matches. */
      readonly secret: number
    }
  | {
      readonly isVerified: false
      /** For logs and metrics. */
      readonly reason: RefusedReason | "too_large"
      /** For logs: `timestamp 412 s old`. Holds no secret and no expected signature. */
      readonly detail: string
      /** What to answer. */
      readonly status: 400 | 401 | 413 | 503
    }

const MOST_BODY_BYTES = 10 * 1024 * 1024

export async function verifyBy(
  verifier: Verifier,
  request: Request | ReceivedRequest,
  options: RequestOptions,
): Promise<VerifyResult> {
  const signed = await signedRequest(request, options)
  if (signed === undefined)
    return { isVerified: false, reason: "too_large", detail: tooLarge(options), status: 413 }
  return resultOf(await verifier.verify(signed, options.now ?? Date.now()), signed.body)
}

const limitOf = ({ maxBodyBytes = MOST_BODY_BYTES }: RequestOptions): number => maxBodyBytes
export const tooLarge = (options: RequestOptions): string =>
  `the body is larger than ${limitOf(options)} bytes`

function resultOf(result: VerificationResult, body: Uint8Array): VerifyResult {
  if (!(result instanceof Verified)) {
    const { reason, detail } = result
    const status = reason === "duplicate_member" ? 400 : reason === "keys_unavailable" ? 503 : 401
    return { isVerified: false, reason, detail, status }
  }
  const { timestampMs, id, key } = result
  const timestamp = timestampMs === undefined ? undefined : new Date(timestampMs)
  return { isVerified: true, body, timestamp, id, secret: key }
}

/** undefined: the body is too large */
export async function signedRequest(
  request: Request | ReceivedRequest,
  options: RequestOptions,
): Promise<SignedRequest | undefined> {
  const body = await bodyOf(request, limitOf(options))
  if (body === undefined) return undefined
  const { pathname, search } = new URL(request.url, "http://localhost")
  const { method = "POST", headers: given } = request
  const headers = given instanceof Headers ? given : toHeaders(given as HeaderRecord)
  return { method, path: pathname, query: search.slice(1), headers, url: options.url ?? request.url, body }
}

/** What a framework decoded as UTF-8 is bytes again, where it shows; Node.js has a character for each byte. */
const asBytes = (value: string): string => headerBytes(value).toString("latin1")

function toHeaders(given: HeaderRecord): Headers {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(given))
    for (const value of [values].flat() as string[]) headers.append(name, asBytes(value))
  return headers
}

async function bodyOf(request: Request | ReceivedRequest, limit: number): Promise<Uint8Array | undefined> {
  if (!("clone" in request)) {
    const body = typeof request.body === "string" ? new TextEncoder().encode(request.body) : request.body
    if (!(body instanceof Uint8Array))
      throw new TypeError("body is neither text nor bytes: give the body as received, before a parser has it")
    return body.length > limit ? undefined : body
  }
  if (request.bodyUsed) throw new TypeError("the request's body was read before: verify first, then read it")
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  const reader = request.clone().body?.getReader()
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    pieces.push(read.value as Uint8Array<ArrayBuffer>)
    length += read.value.length
    if (length <= limit) continue
    // the other branch of the clone may still be read
    void reader?.cancel()
    return undefined
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer())
}
