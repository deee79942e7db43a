import { Buffer } from "node:buffer"
import { firstByte } from "../../forms/body-format.ts"
import { OPEN_BRACE } from "../../json/tokens.ts"
import type { Family } from "./family.ts"
import { member, readSignedJson } from "./json-body.ts"
import { readJson } from "../../json/read.ts"
import { macFamily } from "./mac-family.ts"
import type { Claim } from "./signature-verifier.ts"
import { withHeaders } from "./sendable.ts"
import { Refused, type SignedRequest } from "../verifier.ts"

const HEADER = "HmacSignature"

/**
 * Adyen: platform webhooks have an HMAC of the body in a header, payment webhooks one of eight fields, joined by colons, in
 * the item itself.
 *
 * @see https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures
 */
export function adyen(): Family {
  return macFamily(
    () => ({
      encoding: "base64",
      read,
      write(request, _nowMs, expected) {
        const { method, url, headers, body } = request
        const json = readJson(body)
        const item = itemOf(json)
        if (item === undefined) return withHeaders(request, { [HEADER]: expected([body]) })
        const fields = signedFields(item)
        const additionalData = {
          ...(member(item, "additionalData") as object | undefined),
          hmacSignature: fields instanceof Refused ? "" : expected([fields]),
        }
        const signed = {
          ...(json as object),
          notificationItems: [{ NotificationRequestItem: { ...item, additionalData } }],
        }
        return { method, url, headers, body: Buffer.from(JSON.stringify(signed)) }
      },
    }),
    {
      family: "adyen",
      secret: "hex",
      covers: () => ({
        body: "part",
        time: false,
        id: false,
        signature: [HEADER.toLowerCase()],
        isInBody: true,
      }),
    },
  )
}

function read({ headers, body }: SignedRequest): Claim | Refused {
  const header = headers.get(HEADER)
  if (header !== null && header !== "")
    // an item's fields, which the same key signs, are no JSON
    return firstByte(body) === OPEN_BRACE
      ? { signatures: [header], signed: [body] }
      : new Refused("malformed", "the body is not a JSON object")
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const item = itemOf(json)
  if (item === undefined)
    return new Refused("missing_header", `no ${HEADER} and not exactly one item in the body`)
  const signature = member(member(item, "additionalData"), "hmacSignature")
  if (typeof signature !== "string" || signature === "")
    return new Refused("malformed", "no additionalData.hmacSignature in the item")
  const fields = signedFields(item)
  return fields instanceof Refused ? fields : { signatures: [signature], signed: [fields] }
}

/** The only item of a JSON payment webhook: further ones would go unverified. */
function itemOf(json: unknown): object | undefined {
  const items = member(json, "notificationItems")
  const item =
    Array.isArray(items) && items.length === 1 ? member(items[0], "NotificationRequestItem") : undefined
  return typeof item === "object" && item !== null ? item : undefined
}

/**
 * The signed fields, joined by colons. The merchant's reference may have colons: the fields before it and behind it are counted
 * from either end, and none of them may have one.
 */
function signedFields(item: object): Uint8Array | Refused {
  const amount = member(item, "amount")
  const fields: { readonly [name: string]: unknown } = {
    pspReference: member(item, "pspReference"),
    originalReference: member(item, "originalReference"),
    merchantAccountCode: member(item, "merchantAccountCode"),
    merchantReference: member(item, "merchantReference"),
    "amount.value": member(amount, "value"),
    "amount.currency": member(amount, "currency"),
    eventCode: member(item, "eventCode"),
    success: member(item, "success"),
  }
  const texts: string[] = []
  for (const [name, field] of Object.entries(fields)) {
    if (!isScalar(field)) return new Refused("malformed", `${name} of the item is neither text nor a number`)
    const text = String(field ?? "")
    if (name !== "merchantReference" && text.includes(":"))
      return new Refused("malformed", `${name} of the item has a colon, which separates the signed fields`)
    texts.push(text)
  }
  if (!/^(?:true|false)?$/.test(texts.at(-1)!))
    return new Refused("malformed", "success of the item is neither true nor false")
  return Buffer.from(texts.join(":"))
}

const isScalar = (value: unknown): value is string | number | boolean | null | undefined =>
  value === undefined || value === null || ["string", "number", "boolean"].includes(typeof value)
