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
  if (bytes === undefined) throw new Error(`the response is larger than ${mostBytes} bytes`)
  return { status: response.status, headers: response.headers, bytes }
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
