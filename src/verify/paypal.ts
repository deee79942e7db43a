import { certificateVerifier, type CertificateClaim } from "./certificate-signature.ts"
import { textOf, type Family } from "./family.ts"
import { parseTime } from "./freshness.ts"
import { Refused, type SignedRequest } from "./verifier.ts"

const HEADERS = {
  id: "PAYPAL-TRANSMISSION-ID",
  time: "PAYPAL-TRANSMISSION-TIME",
  signature: "PAYPAL-TRANSMISSION-SIG",
  certificate: "PAYPAL-CERT-URL",
  algorithm: "PAYPAL-AUTH-ALGO",
}

/**
 * PayPal: RSA with SHA-256 over the transmission's id, its time, the webhook's id and the body's CRC-32. The certificate
 * must be PayPal's and lead to a trusted authority.
 *
 * @see https://developer.paypal.com/api/rest/webhooks/rest/
 */
export function paypal(): Family {
  return {
    family: "paypal",
    requires: [["webhook_id"]],
    optional: ["tolerance"],
    secretForm: undefined,
    toleranceMs: 0,
    signsUrl: false,
    covers: () => ({ body: "checksum", time: true, id: true }),
    verifier(settings, outside) {
      const webhookId = textOf(settings, "webhook_id")
      return certificateVerifier(
        (request) => read(request, webhookId),
        {
          allows: ({ hostname }) => hostname === "api.paypal.com" || hostname === "api.sandbox.paypal.com",
          chain: (commonName) => commonName.toLowerCase().endsWith(".paypal.com"),
        },
        { outside, toleranceMs: settings.tolerance ?? 0 },
      )
    },
    signer: undefined,
  }
}

function read({ headers, body }: SignedRequest, webhookId: string): CertificateClaim | Refused {
  const values: { [name in keyof typeof HEADERS]?: string } = {}
  for (const [name, header] of Object.entries(HEADERS)) {
    const value = headers.get(header)
    if (value === null || value === "") return new Refused("missing_header", `no ${header}`)
    values[name as keyof typeof HEADERS] = value
  }
  const { id = "", time = "", signature = "", certificate = "", algorithm = "" } = values
  if (algorithm.toLowerCase() !== "sha256withrsa")
    return new Refused("malformed", `${HEADERS.algorithm} is not SHA256withRSA`)
  const timestampMs = parseTime(time, "iso")
  if (timestampMs === undefined) return new Refused("malformed", `${HEADERS.time} is not a time`)
  const signed = [id, time, webhookId, String(Bun.hash.crc32(body))].join("|")
  return {
    signatures: [signature],
    signed: [signed],
    timestampMs,
    id,
    certificateUrl: certificate,
    hash: "sha256",
  }
}
