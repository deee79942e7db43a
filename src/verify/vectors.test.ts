import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { findFamily, makeVerifier } from "./presets/providers.ts"
import type { VerifierSettings } from "./schemes/family.ts"

/** Published signatures of providers. They stay where they are: next to the checkout, not in it. */
const FILE = join(import.meta.dir, "../../../shared/vectors/signature-vectors.json")

interface Vector {
  readonly provider: string
  readonly scheme: string
  readonly name: string
  readonly method: string
  readonly secret?: string
  readonly secondarySecret?: string
  readonly publicKey?: string
  readonly url: string | null
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  /** Seconds since 1970; not there where no time is signed. */
  readonly now?: number
  readonly toleranceSec?: number
  readonly valid: boolean
  readonly reason?: string
}

/** What the file calls the reasons, in our words. */
const REASONS: { readonly [reason: string]: readonly string[] } = {
  "signature-mismatch": ["no_match", "malformed"],
  "body-hash-mismatch": ["no_match"],
  "no-known-version": ["malformed"],
  "malformed-header": ["malformed"],
  "unsupported-algorithm": ["malformed"],
  "bad-timestamp": ["malformed"],
  "missing-header": ["missing_header"],
  "stale-timestamp": ["stale"],
  "future-timestamp": ["future"],
}

if (existsSync(FILE)) {
  const vectors = JSON.parse(readFileSync(FILE, "utf8")) as readonly Vector[]
  const isPrimitive = ({ scheme }: Vector): boolean => scheme.endsWith("-primitive")
  const cases = vectors.map((it) => [`${it.provider}: ${it.name}`, it] as const)

  test.each(cases.filter(([, it]) => !isPrimitive(it)))("%s", async (_name, vector) => {
    const { provider, secret, secondarySecret, publicKey, now, toleranceSec, valid, reason } = vector
    const settings: VerifierSettings = {
      ...(publicKey === undefined
        ? { secret: [secret!, ...(secondarySecret === undefined ? [] : [secondarySecret])] }
        : { public_key: [publicKey] }),
      ...(toleranceSec === undefined ? {} : { tolerance: toleranceSec * 1000 }),
      // its older signatures are among the vectors, and are off by default
      ...(provider === "hubspot" ? { min_version: "1" as const } : {}),
    }
    const url = vector.url ?? ""
    const { pathname, search } = url === "" ? { pathname: "/", search: "" } : new URL(url)
    const result = await makeVerifier(provider, settings).verify(
      {
        method: vector.method,
        url,
        path: pathname,
        query: search.slice(1),
        headers: new Headers(vector.headers),
        body: Buffer.from(vector.body),
      },
      (now ?? 0) * 1000,
    )
    if (valid) expect(result).toMatchObject({ kind: "verified" })
    else {
      expect(result.kind).toBe("refused")
      expect(REASONS[reason!]).toContain(result.kind === "refused" ? result.reason : "")
    }
  })

  test.each(cases.filter(([, it]) => isPrimitive(it)))(
    "%s",
    async (_name, { provider, secret, headers, body }) => {
      const timestamp = "1700000000"
      const verify = (text: string) =>
        makeVerifier(provider, { secret: [secret!] }).explain(
          {
            method: "POST",
            url: "",
            path: "/",
            query: "",
            headers: new Headers({ "stripe-signature": `t=${timestamp},v1=0` }),
            body: Buffer.from(text),
          },
          Number(timestamp) * 1000,
        )
      // the primitive that the vector fixes is the one that the scheme's signatures are made with
      expect(createHmac("sha256", secret!).update(body).digest("hex")).toBe(headers["x-expected-hmac"]!)
      expect(await verify(body)).toMatchObject({
        expected: [`v1=${createHmac("sha256", secret!).update(`${timestamp}.${body}`).digest("hex")}`],
      })
    },
  )

  test("every provider of the vectors has a preset of its name", () => {
    for (const { provider } of vectors)
      expect([provider, findFamily(provider)?.family]).not.toContain(undefined)
  })
} else {
  process.stderr.write(`\n*** THE PUBLISHED SIGNATURES ARE NOT CHECKED: ${FILE} is not there ***\n\n`)
}
