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
        const additionalData = {
          ...(member(item, "additionalData") as object | undefined),
          hmacSignature: expected([signedFields(item)]),
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
  if (header !== null && header !== "") return { signatures: [header], signed: [body] }
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const item = itemOf(json)
  if (item === undefined)
    return new Refused("missing_header", `no ${HEADER} and not exactly one item in the body`)
  const signature = member(member(item, "additionalData"), "hmacSignature")
  if (typeof signature !== "string" || signature === "")
    return new Refused("malformed", "no additionalData.hmacSignature in the item")
  return { signatures: [signature], signed: [signedFields(item)] }
}

/** The only item of a JSON payment webhook: further ones would go unverified. */
function itemOf(json: unknown): object | undefined {
  const items = member(json, "notificationItems")
  const item =
    Array.isArray(items) && items.length === 1 ? member(items[0], "NotificationRequestItem") : undefined
  return typeof item === "object" && item !== null ? item : undefined
}

function signedFields(item: object): Uint8Array {
  const amount = member(item, "amount")
  const fields = [
    member(item, "pspReference"),
    member(item, "originalReference"),
    member(item, "merchantAccountCode"),
    member(item, "merchantReference"),
    member(amount, "value"),
    member(amount, "currency"),
    member(item, "eventCode"),
    member(item, "success"),
  ]
  return Buffer.from(fields.map((field) => (isScalar(field) ? String(field) : "")).join(":"))
}

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
