import { describe, expect, test } from "bun:test"
import {
  BODY,
  NOW,
  OUTSIDE,
  PRIVATE_KEYS,
  reencode,
  reencodeHeaders,
  requestOf,
  sendersOfTests,
  URL_SENT_TO,
  toRequest,
} from "../../../test/support/senders.ts"
import { PRESETS } from "./presets.ts"
import { findFamily, makeSigner, makeVerifier, PROVIDER_NAMES } from "./providers.ts"
import type { SignedRequest, VerificationResult } from "../verifier.ts"

const SENDERS = sendersOfTests()

test("every preset and generic kind has a sender here, and nothing else", () => {
  expect(Object.keys(SENDERS).toSorted()).toEqual(PROVIDER_NAMES.toSorted())
})

test.each(Object.entries(PRESETS))(
  "%s is named and described as the others are",
  (name, { docs, note, title }) => {
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    expect(new URL(docs).protocol).toBe("https:")
    expect(title).not.toBe("")
    expect(note ?? ".").toMatch(/\.$/)
  },
)

describe.each(Object.entries(SENDERS))("%s", (name, sender) => {
  const { settings, wrong, toleranceS, signs = "body" } = sender
  const body = sender.body ?? BODY
  // where the provider names no tolerance, the check is tried with one that is set
  const usual =
    toleranceS !== undefined && findFamily(name)!.toleranceMs === 0 ? { tolerance: toleranceS * 1000 } : {}
  const verifier = makeVerifier(name, { ...settings, ...usual }, OUTSIDE)
  const judge = async (request: SignedRequest, nowMs = NOW): Promise<VerificationResult> =>
    verifier.verify(request, nowMs)
  const sendAt = (ms: number): Promise<SignedRequest> => requestOf(sender, ms)
  const withHeader = (request: SignedRequest, change: (headers: Headers) => void): SignedRequest => {
    const headers = new Headers(request.headers)
    change(headers)
    return { ...request, headers }
  }
  const sentHeaders = ({ headers }: SignedRequest): string[] =>
    [...headers.keys()].filter((it) => it !== "content-type")

  test("a request signed by the provider is accepted", async () => {
    expect(await judge(await sendAt(NOW))).toMatchObject({ kind: "verified" })
  })

  test("a request signed by the signer is accepted, if there is one", async () => {
    if (findFamily(name)!.signer === undefined) return expect(() => makeSigner(name, settings)).toThrow()
    const privateKey = PRIVATE_KEYS[name]
    const secret = privateKey === undefined ? settings.secret : [privateKey]
    const signer = makeSigner(name, { ...settings, secret })
    const headers = new Headers({
      "content-type": sender.body === undefined ? "application/json" : "application/x-www-form-urlencoded",
    })
    const unsigned = { method: "POST", url: URL_SENT_TO, headers, body: Buffer.from(body), id: "msg_2" }
    const sent = await signer.sign(unsigned, NOW)
    const { pathname, search } = new URL(sent.url)
    expect(await judge({ ...sent, path: pathname, query: search.slice(1) })).toMatchObject({
      kind: "verified",
    })
  })

  test("the explanation has the same result, and expects the received signature", async () => {
    const request = await sendAt(NOW)
    const explanation = await verifier.explain(request, NOW)
    expect(explanation.result).toEqual(await judge(request))
    if (explanation.expected.length > 0)
      expect(explanation.received.some((it) => explanation.expected.includes(it))).toBe(true)
  })

  test("a wrong secret, key or claim is refused", async () => {
    const other = makeVerifier(name, { ...wrong, ...usual }, OUTSIDE)
    const result = await other.verify(await sendAt(NOW), NOW)
    expect(result).toMatchObject({
      kind: "refused",
      reason: expect.stringMatching(/^(no_match|wrong_claim)$/),
    })
  })

  test("an empty request is refused", async () => {
    expect(await judge(toRequest({}))).toMatchObject({
      kind: "refused",
      reason: expect.stringMatching(/missing|malformed/),
    })
  })

  test("it verifies again with the headers that its coverage names, unless one of them is the secret itself", async () => {
    const request = await sendAt(NOW)
    const { signature = [], headers = [], credential } = findFamily(name)!.covers(settings)
    const kept = ["content-type", ...signature, ...headers]
    const rest = {
      ...request,
      headers: new Headers([...request.headers].filter(([it]) => kept.includes(it))),
    }
    const isAlone = credential?.header === undefined
    expect((await judge(rest)).kind).toBe(isAlone ? "verified" : "refused")
    if (!isAlone) expect(sentHeaders(request)).toEqual([credential.header!])
  })

  test("without any one of its headers, or with it empty, a request is refused", async () => {
    const request = await sendAt(NOW)
    for (const header of sentHeaders(request)) {
      const without = withHeader(request, (headers) => headers.delete(header))
      expect([header, (await judge(without)).kind]).toEqual([header, "refused"])
      const empty = withHeader(request, (headers) => headers.set(header, ""))
      expect([header, (await judge(empty)).kind]).toEqual([header, "refused"])
    }
  })

  test("with any one of its headers twice, a request is refused, unless the provider sends it twice", async () => {
    const request = await sendAt(NOW)
    for (const header of sentHeaders(request)) {
      const twice = withHeader(request, (headers) => headers.append(header, headers.get(header)!))
      const expected = name === "mollie" ? "verified" : "refused"
      expect([header, (await judge(twice)).kind]).toEqual([header, expected])
    }
  })

  if (signs === "body") {
    test("one bit of the body flipped is refused, whichever byte it is in", async () => {
      const request = await sendAt(NOW)
      const signed = request.body
      for (const place of [0, 0.3, 0.5, 0.7, 0.99]) {
        const flipped = Buffer.from(signed)
        const i = Math.floor(place * flipped.length)
        flipped[i] = flipped[i]! ^ 1
        expect([i, (await judge({ ...request, body: flipped })).kind]).toEqual([i, "refused"])
      }
    })

    test("a re-serialised body is refused", async () => {
      const request = await sendAt(NOW)
      const changed = Buffer.concat([request.body, Buffer.from(" ")])
      const isInBody = name === "aws-sns"
      expect((await judge({ ...request, body: changed })).kind).toBe(isInBody ? "verified" : "refused")
    })

    test("a signature in another encoding is refused", async () => {
      const request = await sendAt(NOW)
      const reencoded =
        name === "aws-sns"
          ? {
              ...request,
              body: Buffer.from(
                Buffer.from(request.body)
                  .toString()
                  .replace(/(?<="Signature":")[^"]+/, reencode),
              ),
            }
          : { ...request, headers: reencodeHeaders(request.headers), query: reencode(request.query) }
      expect(await judge(reencoded)).toMatchObject({
        kind: "refused",
        detail: expect.stringMatching(/^the signature is not |^signature mismatch|\bkeys? /),
      })
    })
  }

  if (sender.signsUrl === true) {
    test("a signature over another URL is refused", async () => {
      const request = await sendAt(NOW)
      for (const url of [
        "https://hooks.example.com/other?x=1&y=a%2Cb",
        "https://hooks.example.com/in?x=2&y=a%2Cb",
      ])
        expect(await judge({ ...request, url })).toMatchObject({ kind: "refused", reason: "no_match" })
    })

    test("needs the URL", () => {
      expect([verifier.signsUrl, findFamily(name)!.signsUrl]).toEqual([true, true])
    })
  }

  if (toleranceS !== undefined) {
    const outOfPlace = (seconds: number) => seconds * 1000
    test("a time that is older than the tolerance is stale, one within it is not", async () => {
      const request = await sendAt(NOW - outOfPlace(toleranceS + 2))
      expect(await judge(request)).toMatchObject({ kind: "refused", reason: "stale" })
      expect(await judge(await sendAt(NOW - outOfPlace(toleranceS - 2)))).toMatchObject({ kind: "verified" })
    })

    test("a time further ahead than the tolerance is refused", async () => {
      const request = await sendAt(NOW + outOfPlace(toleranceS + 2))
      expect(await judge(request)).toMatchObject({ kind: "refused", reason: "future" })
    })

    test("a tolerance of 0 turns the check off", async () => {
      const off = makeVerifier(name, { ...settings, tolerance: 0 }, OUTSIDE)
      expect(await off.verify(await sendAt(NOW - outOfPlace(86_400)), NOW)).toMatchObject({
        kind: "verified",
      })
    })
  }

  test("needs the body only if it reads it", async () => {
    const request = await sendAt(NOW)
    const bodiless = await judge({ ...request, body: new Uint8Array() })
    expect(bodiless.kind).toBe(verifier.needs === "headers" ? "verified" : "refused")
  })
})
