import { gunzipSync } from "node:zlib"
import { throughProxy } from "./proxied-fetch.ts"

/**
 * Fetches with bounds on time and size, without following redirects, which could lead off the allowed hosts.
 *
 * @throws Error
 */
export async function fetchBounded(
  { fetch }: { readonly fetch: (url: string, init?: RequestInit) => Promise<Response> },
  url: string,
  { mostBytes, timeoutMs, ...init }: RequestInit & { mostBytes: number; timeoutMs: number },
) {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout
  const response = await fetch(url, { ...init, redirect: "error", signal })
  const through = GATEWAY_STATUSES.includes(response.status) ? throughProxy(url) : ""
  if (through !== "") {
    await response.body?.cancel()
    throw new Error(`HTTP ${response.status}${through}`)
  }
  const bytes = await readUpTo(response, mostBytes)
  const decoded = bytes === undefined ? "too_large" : decode(bytes, response.headers, mostBytes)
  if (decoded === "too_large") throw new Error(`the response is larger than ${mostBytes} bytes`)
  return { status: response.status, headers: response.headers, bytes: decoded }
}

/** Decodes what a server compresses although no request asks for it. @throws Error */
function decode(
  bytes: Uint8Array<ArrayBuffer>,
  headers: Headers,
  mostBytes: number,
): Uint8Array<ArrayBuffer> | "too_large" {
  const coding = headers.get("Content-Encoding")?.trim().toLowerCase() ?? ""
  if (coding === "" || coding === "identity" || bytes.length === 0) return bytes
  if (coding !== "gzip" && coding !== "x-gzip")
    throw new Error(`the response has the content coding ${JSON.stringify(coding)}, which was not asked for`)
  try {
    return gunzipSync(bytes, { maxOutputLength: mostBytes })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return "too_large"
    throw new Error("the response says that it is gzip, and is not", { cause: error })
  }
}

/** Reads a body. @returns undefined: it has more bytes, or declares more; they are not read */
export async function readUpTo(
  { body, headers }: Pick<Response, "body" | "headers">,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(headers.get("Content-Length") ?? 0) > mostBytes) {
    await body?.cancel()
    return undefined
  }
  const chunks: Uint8Array[] = []
  let length = 0
  // leaving the loop cancels the rest
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** What proxies answer for a server that they can't reach. */
const GATEWAY_STATUSES = [502, 503, 504]
