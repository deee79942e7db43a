import { Buffer } from "node:buffer"
import { readJson } from "../../json/read.ts"
import { sha256 } from "../crypto.ts"
import { Refused, type SignedRequest, type Verifier } from "../verifier.ts"
import { listOf, type Family, type VerifierSettings } from "./family.ts"
import { hmacScheme } from "./hmac.ts"
import { macFamily } from "./mac-family.ts"
import { digestSpelling } from "./mac.ts"
import { type Signed, signatureVerifier, type Claim, type Key } from "./signature-verifier.ts"

const VERSION_3 = hmacScheme({
  header: "X-HubSpot-Signature-v3",
  encoding: "base64",
  payload: "{method}{url}{body}{timestamp}",
  time: { header: "X-HubSpot-Request-Timestamp", unit: "ms" },
})

/**
 * HubSpot: signature version 3 if present, else 2 or 1 if `min_version` allows them: plain SHA-256 of the secret and the
 * signed text, without a time.
 *
 * @see https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation
 */
export function hubspot(): Family {
  const third = macFamily(() => ({ ...VERSION_3, read: readThird }), {
    family: "hubspot",
    signsUrl: true,
    toleranceMs: 300_000,
  })
  return {
    ...third,
    optional: ["min_version"],
    covers: (settings) => ({
      body: "whole",
      time: oldestOf(settings) === 3,
      id: false,
      url: oldestOf(settings) > 1,
      signature: [
        "x-hubspot-signature-v3",
        "x-hubspot-request-timestamp",
        ...(oldestOf(settings) === 3 ? [] : ["x-hubspot-signature", "x-hubspot-signature-version"]),
      ],
    }),
    verifier(settings, fetcher): Verifier {
      const v3 = third.verifier(settings, fetcher)
      const oldest = oldestOf(settings)
      const keys = listOf(settings, "secret").map(plainHashKey)
      const older = signatureVerifier(
        {
          signsUrl: true,
          read: (request) => readOlder(request, oldest),
          spelling: digestSpelling({}),
        },
        keys,
        0,
      )
      const of = ({ headers }: SignedRequest): Verifier =>
        headers.has("X-HubSpot-Signature-v3") || !headers.has("X-HubSpot-Signature") ? v3 : older
      return {
        ...v3,
        verify: (request, nowMs) => of(request).verify(request, nowMs),
        explain: (request, nowMs) => of(request).explain(request, nowMs),
      }
    },
  }
}

/** HubSpot decodes :/?@!$'()*,; in the URL before signing; the raw URL, as signed by its libraries, matches too. */
const DECODED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi

function readThird(request: SignedRequest): Claim | Refused {
  const claim = VERSION_3.read(request)
  const decoded = request.url.replace(DECODED, decodeURIComponent)
  if (claim instanceof Refused || decoded === request.url) return claim
  const other = VERSION_3.read({ ...request, url: decoded })
  return other instanceof Refused ? other : { ...claim, orSigned: [other.signed] }
}

const oldestOf = ({ min_version: version = "3" }: VerifierSettings): number => Number(version)

function readOlder({ headers, method, url, body }: SignedRequest, oldest: number): Claim | Refused {
  const signature = headers.get("X-HubSpot-Signature")
  if (signature === null || signature === "") return new Refused("missing_header", "no X-HubSpot-Signature")
  const version = headers.get("X-HubSpot-Signature-Version")
  if ((version === "v1" && oldest > 1) || (version === "v2" && oldest > 2))
    return new Refused(
      "missing_header",
      `no X-HubSpot-Signature-v3, and ${version} is older than min_version`,
    )
  // plain hashes: what is appended to a body, or to the method and the URL in front of it, leaves no JSON
  if (body.length > 0 && !isJsonObjectOrList(body))
    return new Refused("malformed", `the body is neither a JSON object nor a list, and has no version 3`)
  if (version === "v1") return { signatures: [signature], signed: [body] }
  if (version === "v2") return { signatures: [signature], signed: [method, Buffer.from(url), body] }
  return new Refused("malformed", "X-HubSpot-Signature-Version is neither v1 nor v2")
}

function isJsonObjectOrList(body: Uint8Array): boolean {
  const json = readJson(body)
  return typeof json === "object" && json !== null
}

function plainHashKey(secret: string): Key {
  const key = Buffer.from(secret)
  return { expected: (signed: Signed) => sha256([key, ...signed], "hex") }
}
