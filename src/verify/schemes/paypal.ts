import { message, setting } from "../../message.ts"
import { crc32 } from "node:zlib"
import { certificateVerifier, type CertificateClaim } from "./certificate-signature.ts"
import { textOf, WrongSetting, type Family, type SettingKey, type VerifierSettings } from "./family.ts"
import { findFlaw } from "../../json/check.ts"
import { parseTime } from "./freshness.ts"
import { readSignedJson } from "./json-body.ts"
import { PayPalApi, type Transmission } from "./paypal-api.ts"
import { Refused, type SignedRequest } from "../verifier.ts"

const HEADERS: { readonly [part in keyof Transmission]: string } = {
  id: "PAYPAL-TRANSMISSION-ID",
  time: "PAYPAL-TRANSMISSION-TIME",
  signature: "PAYPAL-TRANSMISSION-SIG",
  certificate: "PAYPAL-CERT-URL",
  algorithm: "PAYPAL-AUTH-ALGO",
}

const HOSTS = ["api.paypal.com", "api.sandbox.paypal.com", "api-m.paypal.com", "api-m.sandbox.paypal.com"]
/** `/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77` */
const CERTIFICATE_PATH = /^\/v1\/notifications\/certs\/[A-Za-z0-9_-]{1,128}$/

/** PayPal retries for 3 days and does not document whether retries are signed anew. */
const TOLERANCE_MS = 4 * 86_400_000

/**
 * PayPal: RSA with SHA-256 over the transmission's id and time, the webhook's id and the body's CRC-32, which is forgeable.
 * The certificate must be PayPal's, with a trusted chain. With `verify_online` PayPal's API verifies what has passed, too.
 *
 * @see https://developer.paypal.com/api/rest/webhooks/rest/
 */
export function paypal(): Family {
  return {
    family: "paypal",
    requires: [["webhook_id"]],
    optional: ["verify_online", "client_id", "client_secret", "api"],
    toleranceMs: TOLERANCE_MS,
    covers: (settings) => ({
      body: isOnline(settings) ? "whole" : "checksum",
      time: true,
      id: true,
      signature: Object.values(HEADERS).map((name) => name.toLowerCase()),
    }),
    verifier(settings, fetcher) {
      const webhookId = textOf(settings, "webhook_id")
      const api = isOnline(settings) ? new PayPalApi(settings, fetcher) : undefined
      return certificateVerifier(
        (request) => toClaim(request, webhookId),
        {
          allows: ({ hostname, pathname }) => HOSTS.includes(hostname) && CERTIFICATE_PATH.test(pathname),
          isFor: (names) => names.some((name) => name.endsWith(".paypal.com")),
        },
        { fetcher, toleranceMs: settings.tolerance ?? TOLERANCE_MS },
        api && ((request, nowMs) => verifyOnline(api, webhookId, request, nowMs)),
      )
    },
  }
}

function isOnline({ verify_online: online, client_id, client_secret, api }: VerifierSettings): boolean {
  if (online === "true") return true
  const given = Object.entries({ client_id, client_secret, api }).find(([, value]) => value !== undefined)
  if (given !== undefined)
    throw new WrongSetting(
      given[0] as SettingKey,
      message`has no effect without ${setting("verify_online", "true")}`,
      "conflicting_keys",
    )
  return false
}

/** Verifies with the API what the certificate has verified. */
async function verifyOnline(
  api: PayPalApi,
  webhookId: string,
  request: SignedRequest,
  nowMs: number,
): Promise<Refused | undefined> {
  const transmission = readTransmission(request)
  if (transmission instanceof Refused) return transmission
  // embedded in the API request byte for byte, so it must be one JSON value, the same to every reader
  const flaw = findFlaw(request.body)
  if (flaw !== undefined) return new Refused("malformed", `the body ${flaw.problem}`)
  const json = readSignedJson(request.body)
  if (json instanceof Refused) return json
  if (json === undefined) return new Refused("malformed", "the body starts with a byte-order mark")
  return api.verify(transmission, webhookId, request.body, nowMs)
}

function readTransmission({ headers }: SignedRequest): Transmission | Refused {
  const values = { ...HEADERS }
  for (const part of Object.keys(HEADERS) as (keyof Transmission)[]) {
    const value = headers.get(HEADERS[part])
    if (value === null || value === "") return new Refused("missing_header", `no ${HEADERS[part]}`)
    values[part] = value
  }
  return values
}

function toClaim(request: SignedRequest, webhookId: string): CertificateClaim | Refused {
  const transmission = readTransmission(request)
  if (transmission instanceof Refused) return transmission
  const { id, time, signature, certificate, algorithm } = transmission
  if (algorithm.toLowerCase() !== "sha256withrsa")
    return new Refused("malformed", `${HEADERS.algorithm} is not SHA256withRSA`)
  const timestampMs = parseTime(time, "iso")
  if (timestampMs === undefined) return new Refused("malformed", `${HEADERS.time} is not a timestamp`)
  const signed = [id, time, webhookId, String(crc32(request.body))].join("|")
  return {
    signatures: [signature],
    signed: [signed],
    timestampMs,
    id,
    certificateUrl: certificate,
    hash: "sha256",
  }
}
