import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import type { Keys, ProviderSdk, Signed } from "../support/provider-sdks.ts"
import { makeSigner, makeVerifier } from "../../src/verify/presets/providers.ts"
import { sampleRequest } from "../../src/verify/samples/samples.ts"
import { Verified } from "../../src/verify/verifier.ts"
import { cases } from "../support/cases.ts"
import { runToEnd } from "../support/child.ts"
import { PythonPackages } from "../support/python-packages.ts"
import { hasTestPackages } from "../support/tools.ts"

// Hookline beside the libraries that the providers give their customers: what theirs sign ours accept, what ours sign
// theirs accept, and what was changed on the way both refuse.

const { PROVIDER_SDKS } = hasTestPackages()
  ? await import("../support/provider-sdks.ts")
  : { PROVIDER_SDKS: {} }
if (!hasTestPackages()) test.skip("ours and theirs agree", () => {})

const CASES = cases(300)

const word = fc.string({ unit: "grapheme", maxLength: 20 })
const json = fc
  .oneof(fc.jsonValue({ maxDepth: 3 }), fc.dictionary(word, word))
  .map((value) => JSON.stringify({ value }))
const form = fc
  .array(fc.tuple(fc.oneof(word, fc.constantFrom("Body", "To", "__proto__", "a", "B")), word), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pairs) => new URLSearchParams(pairs).toString())
const scalar = fc.oneof(word, fc.stringMatching(/^[:\\,A-Z0-9]{0,12}$/))
/** Adyen's own references have no colon, which separates the signed fields: src/verify/recut.test.ts. */
const reference = scalar.map((text) => text.replaceAll(":", "-"))
/** An item of a payment, as it is before it is signed. */
const payment = fc
  .record({
    pspReference: reference,
    originalReference: fc.option(reference, { nil: undefined }),
    merchantAccountCode: reference,
    merchantReference: scalar,
    amount: fc.record({ value: fc.integer({ min: 0 }), currency: fc.constantFrom("EUR", "USD") }),
    eventCode: fc.constantFrom("AUTHORISATION", "CAPTURE"),
    success: fc.constantFrom("true", "false"),
    additionalData: fc.constant({}),
  })
  .map((item) => JSON.stringify({ live: "false", notificationItems: [{ NotificationRequestItem: item }] }))

const segment = fc.stringMatching(/^[A-Za-z0-9._~-]{1,8}$/)
const url = fc
  .tuple(fc.array(segment, { maxLength: 3 }), fc.array(fc.tuple(segment, segment), { maxLength: 3 }))
  .map(([path, query]) => {
    const search = query.map(([name, value]) => `${name}=${value}`).join("&")
    return `https://hooks.example.com/${path.join("/")}${search === "" ? "" : `?${search}`}`
  })

function request({ provider, body }: ProviderSdk): fc.Arbitrary<Signed> {
  const bodies = body === "form" ? form : body === "payment" ? payment : json
  const random = fc.record({
    url,
    headers: fc.constant({
      "content-type": body === "form" ? "application/x-www-form-urlencoded" : "application/json",
    }),
    body: bodies,
  })
  const sample = fc.record({ url, number: fc.integer({ min: 1, max: 1000 }) }).map(({ url, number }) => {
    const { headers, body } = sampleRequest(provider, { id: crypto.randomUUID(), number, atMs: Date.now() })
    return { url, headers: Object.fromEntries(headers), body: Buffer.from(body).toString() }
  })
  const isOfSample =
    (body === "form") === (provider === "twilio") && (body === "payment") === (provider === "adyen")
  return isOfSample ? fc.oneof({ weight: 9, arbitrary: random }, { weight: 1, arbitrary: sample }) : random
}

async function oursAccepts(
  { provider }: ProviderSdk,
  { url, headers, body }: Signed,
  keys: Keys,
): Promise<boolean> {
  const { pathname, search } = new URL(url)
  const verifier = makeVerifier(provider, keys.verifier)
  const sent = {
    method: "POST",
    url,
    path: pathname,
    query: search.slice(1),
    headers: new Headers(headers),
    body: Buffer.from(body),
  }
  return (await verifier.verify(sent, Date.now())) instanceof Verified
}

async function theirsAccepts(sdk: ProviderSdk, signed: Signed, keys: Keys): Promise<boolean> {
  try {
    return await sdk.accepts(signed, keys)
  } catch {
    // most of them throw what they refuse
    return false
  }
}

async function signByOurs(
  { provider, headers: more = {} }: ProviderSdk,
  { url, headers, body }: Signed,
  keys: Keys,
): Promise<Signed> {
  const unsigned = {
    method: "POST",
    url,
    headers: new Headers({ ...headers, ...more }),
    body: Buffer.from(body),
    id: "msg_1",
  }
  const signed = await makeSigner(provider, keys.signer).sign(unsigned, Date.now())
  return {
    url: signed.url,
    headers: Object.fromEntries(signed.headers),
    body: Buffer.from(signed.body).toString(),
  }
}

/** Another character of its alphabet in the place of one. */
const flip = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === "1" ? "2" : "1") + text.slice(at + 1)

/** What somebody may change on the way, of what the provider signs. */
function changes(sdk: ProviderSdk): ((signed: Signed, at: number) => Signed)[] {
  const header = (name: string, change: (value: string) => string) => (signed: Signed) => ({
    ...signed,
    headers: { ...signed.headers, [name]: change(signed.headers[name]!) },
  })
  const { signature, time } = sdk
  return [
    sdk.body === "payment"
      ? (it) => ({ ...it, body: it.body.replace('"pspReference":"', '"pspReference":"1') })
      : sdk.body === "form"
        ? (it) => ({ ...it, body: `${it.body}&changed=1` })
        : (it, at) => {
            const place = it.body.indexOf(":") + 1 + (at % 3)
            return { ...it, body: `${it.body.slice(0, place)} ${it.body.slice(place)}` }
          },
    signature === undefined
      ? (it) => ({
          ...it,
          body: it.body.replace(/("hmacSignature":")(.)/, (_, before, c) => before + (c === "A" ? "B" : "A")),
        })
      : (it, at) => header(signature, (value) => flip(value, value.length - 5 - (at % 15)))(it),
    ...(time === undefined ? [] : [header(time, (value) => `${Number(value) - 1}`)]),
    ...(sdk.signsUrl === true ? [(it: Signed) => ({ ...it, url: it.url.replace(".com/", ".com/x") })] : []),
  ]
}

describe.each(Object.entries(PROVIDER_SDKS))("%s", (_, sdk) => {
  const requests = fc.tuple(request(sdk), fc.nat(1))

  test("a request that it signs and accepts is accepted", async () => {
    const property = fc.asyncProperty(requests, async ([unsigned, number]) => {
      const keys = sdk.keys(number)
      const signed = await sdk.sign(unsigned, keys)
      expect(await theirsAccepts(sdk, signed, keys)).toBe(true)
      expect(await oursAccepts(sdk, signed, keys)).toBe(true)
    })
    await fc.assert(property, { numRuns: CASES })
  })

  test("it accepts a request signed by hookline", async () => {
    const property = fc.asyncProperty(requests, async ([unsigned, number]) => {
      const keys = sdk.keys(number)
      const signed = await signByOurs(sdk, unsigned, keys)
      expect(await theirsAccepts(sdk, signed, keys)).toBe(true)
    })
    await fc.assert(property, { numRuns: CASES })
  })

  test("a changed request, or one signed with another key, is refused by both", async () => {
    const ways = changes(sdk)
    const property = fc.asyncProperty(
      requests,
      fc.nat(ways.length),
      fc.nat(1000),
      async ([unsigned, number], way, at) => {
        const signed = await sdk.sign(unsigned, sdk.keys(number))
        const change = ways[way]
        const received = change === undefined ? signed : change(signed, at)
        const keys = sdk.keys(change === undefined ? number + 1 : number)
        if (change !== undefined) expect(received).not.toEqual(signed)
        expect(await theirsAccepts(sdk, received, keys)).toBe(false)
        expect(await oursAccepts(sdk, received, keys)).toBe(false)
      },
    )
    await fc.assert(property, { numRuns: CASES })
  })
})

const workos = new PythonPackages("workos==10.8.0")
test.skipIf(!(await workos.areHere()))("workos: its Python library takes what ours signs", async () => {
  const keys = { secret: "secret \u2713", verifier: {}, signer: { secret: ["secret \u2713"] } }
  const signed = await signByOurs(
    { provider: "workos" } as ProviderSdk,
    { url: "https://a.test/", headers: {}, body: '{"id":"e"}' },
    keys,
  )
  const program = `import sys
from workos.webhooks._verification import verify_header
signature, secret, body = sys.argv[1:]
verify_header(event_body=body.encode(), event_signature=signature, secret=secret)`
  const verify = (body: string) =>
    runToEnd(["python3", "-c", program, signed.headers["workos-signature"]!, keys.secret, body], {
      env: workos.env,
    })
  expect(await verify(signed.body)).toEqual({ status: 0, stdout: "", stderr: "" })
  expect((await verify(`${signed.body} `)).stderr).toContain("ValueError")
})
