import type { Outside } from "./family.ts"

export interface Fetched {
  readonly status: number
  readonly bytes: Uint8Array
}

/**
 * Fetches from a host that is configured or pinned, in a bounded time and no more than so many bytes; redirects are not
 * followed, since nobody looked at where they lead.
 *
 * @throws Error in words that can follow "could not be fetched: "
 */
export async function fetchBounded(
  outside: Pick<Outside, "fetch">,
  url: string,
  { mostBytes, timeoutMs, ...init }: RequestInit & { mostBytes: number; timeoutMs: number },
): Promise<Fetched> {
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await outside.fetch(url, { ...init, redirect: "error", signal })
  const tooLarge = new Error(`the answer is larger than ${mostBytes} bytes`)
  if (Number(response.headers.get("Content-Length") ?? 0) > mostBytes) {
    await response.body?.cancel()
    throw tooLarge
  }
  const chunks: Uint8Array[] = []
  let length = 0
  // leaving the loop early cancels the rest
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > mostBytes) throw tooLarge
    chunks.push(chunk)
  }
  return { status: response.status, bytes: Buffer.concat(chunks) }
}
