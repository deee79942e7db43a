import assert from "node:assert/strict"
import { isUtf8 } from "node:buffer"
import { createHmac } from "node:crypto"
import { makeVerifier } from "../../../src/verify/presets/providers.ts"
import { NOW, OUTSIDE, URL_SENT_TO } from "../../support/senders.ts"
import type { Target } from "../target.ts"

const SECRET = "obviously-fake-token"
const verifier = makeVerifier("twilio", { secret: [SECRET] }, OUTSIDE)
const SIGNED = "MessageSid=SM1&Body=a+b&Body=%C3%A9&Empty="

/** What a form may have: more is refused before its signature is checked. */
const MOST_FIELDS = 1000

/** The pairs of a form, read after https://url.spec.whatwg.org/#concept-urlencoded-parser byte by byte. */
function pairsOf(body: Uint8Array): [name: string, value: string][] {
  const decoded = (text: string): string => {
    const bytes: number[] = []
    const raw = Buffer.from(text, "latin1")
    for (let at = 0; at < raw.length; at++) {
      const hex = raw.toString("latin1", at + 1, at + 3)
      if (raw[at] === 0x25 && /^[0-9a-f]{2}$/i.test(hex)) {
        bytes.push(Number.parseInt(hex, 16))
        at += 2
      } else bytes.push(raw[at] === 0x2b ? 0x20 : raw[at]!)
    }
    return Buffer.from(bytes).toString()
  }
  return Buffer.from(body)
    .toString("latin1")
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=")
      return at === -1 ? [decoded(pair), ""] : [decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]
    })
}

/** Whether a form's names and values are UTF-8: separators are ASCII, so all of it decoded as one value tells. */
function isText(body: Uint8Array): boolean {
  const bytes = Buffer.from(body)
  const latin1 = bytes
    .toString("latin1")
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return isUtf8(Buffer.from(latin1, "latin1"))
}

/** The signature of a form, after Twilio's documentation. */
function signatureOf(body: Uint8Array): string {
  const byName = Map.groupBy(pairsOf(body), ([name]) => name)
  const text = [...byName.keys()]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .flatMap((name) => {
      const values = new Set(byName.get(name)!.map(([, value]) => value))
      return [...values].toSorted((a, b) => (a < b ? -1 : 1)).map((value) => name + value)
    })
    .join("")
  return createHmac("sha1", SECRET)
    .update(URL_SENT_TO + text)
    .digest("base64")
}

const GENUINE = signatureOf(Buffer.from(SIGNED))

/** A form's signature beside another implementation's. */
export const form: Target = {
  name: "form",
  seeds: [SIGNED, "a=1&b=2", "a&&b=&=c&a=1", "?a=1&b", "%zz=%&+=%2B%00", "\ufeffa=\u00e9"],
  words: ["&", "=", "+", "%", "%26", "%3D", "%C3", "%EF%BB%BF", "a=1", ";"],
  async check(bytes) {
    const verify = async (signature: string): Promise<boolean> => {
      const headers = new Headers({
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Twilio-Signature": signature,
      })
      const request = { method: "POST", url: URL_SENT_TO, path: "/in", query: "", headers, body: bytes }
      return (await verifier.verify(request, NOW)).kind === "verified"
    }
    const own = signatureOf(bytes)
    const isRead = isText(bytes) && pairsOf(bytes).length <= MOST_FIELDS
    assert.equal(await verify(own), isRead, "its own signature")
    assert.equal(await verify(GENUINE), isRead && own === GENUINE, "another form's signature")
  },
}
