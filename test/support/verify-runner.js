// Plain JavaScript, for runtimes without TypeScript: what `verify` says of the cases of verify-cases.ts, where it differs from
// what is expected.

/** @returns {Promise<{ verified: number, refused: number, different: string[] }>} */
export async function compare(verify, cases) {
  const different = []
  const counts = { verified: 0, refused: 0 }
  for (const { name, provider, settings, url, method, headers, body, nowMs, expected } of cases) {
    // Fetch refuses credentials in a URL, which some senders sign
    const at = new URL(url)
    at.username = at.password = ""
    const request = new Request(at, { method, headers, ...(body !== "" && { body }) })
    const result = await verify(request, { provider, ...settings, url, now: nowMs })
    const found = result.isVerified
      ? { kind: "verified", timestampMs: result.timestamp?.getTime(), id: result.id, key: result.secret }
      : { kind: "refused", reason: result.reason, detail: result.detail }
    const { isForm: _, ...wanted } = expected
    counts[found.kind]++
    const [seen, should] = [found, wanted].map((it) => JSON.stringify(it, Object.keys(it).toSorted()))
    if (seen !== should) different.push(`${name}: ${seen} instead of ${should}`)
    // the body can still be read
    if ((await request.text()) !== body) different.push(`${name}: the body is gone`)
  }
  return { ...counts, different }
}
