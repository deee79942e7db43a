import { Buffer } from "node:buffer"
import { mediaType } from "../../forms/body-format.ts"
import { parseUrlencoded } from "../../forms/urlencoded.ts"
import { sameText, sha256 } from "../crypto.ts"
import type { Algorithm } from "../pieces.ts"
import {
  Refused,
  type Sendable,
  type SignedRequest,
  type UnsignedRequest,
  type Verifier,
} from "../verifier.ts"
import type { Family } from "./family.ts"
import { macFamily } from "./mac-family.ts"
import { withHeaders } from "./sendable.ts"
import type { Signed, Claim } from "./signature-verifier.ts"

/*
 * These schemes join names and values without separators: the text of one signed request can be split into other
 * parameters and, if a parameter is user input, into a JSON body. Hence a body verified this way is only ever a form
 * (`isForm`), and Twilio's bodySHA256 counts only at the end of the URL: elsewhere it may be part of a parameter.
 */

/**
 * Twilio: HMAC-SHA1, or SHA-256 where a shared key with it signs, of the URL and each form parameter's name and value, sorted
 * by name. Another body is signed by its SHA-256 in the URL's last parameter, `bodySHA256`. Twilio signs the URL with or
 * without the port and sometimes with its query re-encoded; each is tried, as in its own library.
 *
 * @see https://www.twilio.com/docs/usage/security#validating-requests
 * @see https://www.twilio.com/docs/usage/webhooks/webhook-shared-keys
 */
export function twilio(): Family {
  const usual = twilioBy("sha1")
  const bySha256 = twilioBy("sha256")
  return {
    ...usual,
    covers: (settings) => {
      const covered = usual.covers(settings)
      return { ...covered, signature: [...covered.signature!, TWILIO_SETTINGS.toLowerCase()] }
    },
    verifier(settings, fetcher) {
      const verifiers = {
        HMAC_SHA1: usual.verifier(settings, fetcher),
        HMAC_SHA256: bySha256.verifier(settings, fetcher),
      }
      const of = (request: SignedRequest): Verifier => {
        const algorithm = twilioAlgorithm(request)
        return algorithm === "HMAC_SHA256" ? verifiers[algorithm] : verifiers.HMAC_SHA1
      }
      return {
        ...verifiers.HMAC_SHA1,
        verify: (request, nowMs) => of(request).verify(request, nowMs),
        explain: (request, nowMs) => of(request).explain(request, nowMs),
      }
    },
  }
}

/** Names the shared key and its algorithm where the account's auth token does not sign. */
const TWILIO_SETTINGS = "X-Twilio-Webhooks-Signature-Settings"

/** The algorithm that the settings of a request name: `key=…,algorithm=HMAC_SHA256`. */
function twilioAlgorithm({ headers }: SignedRequest): string {
  const settings = headers.get(TWILIO_SETTINGS)
  if (settings === null) return "HMAC_SHA1"
  const items = settings.split(",").map((it) => it.trim())
  const named = items.filter((it) => it.startsWith("algorithm=")).map((it) => it.slice("algorithm=".length))
  return named.length === 0 ? "HMAC_SHA1" : named.join(" and ")
}

function twilioBy(algorithm: Algorithm): Family {
  const name = `HMAC_${algorithm.toUpperCase()}`
  return urlAndForm("X-Twilio-Signature", algorithm, {
    read(request) {
      const named = twilioAlgorithm(request)
      if (named !== name)
        return new Refused("malformed", `${TWILIO_SETTINGS} names neither HMAC_SHA1 nor HMAC_SHA256`)
      const hash = /[?&]bodySHA256=([0-9a-f]{64})$/i.exec(request.url)?.[1]
      if (hash !== undefined && !sameText(sha256Hex(request.body), hash.toLowerCase()))
        return new Refused("no_match", "bodySHA256 of the URL does not match the body")
      const form = hash === undefined ? sortedForm(request, true) : ""
      if (form instanceof Refused)
        return new Refused("malformed", `${form.detail}, and the URL has no bodySHA256`)
      const [url, ...others] = spellings(request.url)
      const isForm = hash === undefined
      const signed = (spelled: string): Signed => [Buffer.from(spelled + form)]
      return { signed: signed(url!), orSigned: others.map(signed), isForm }
    },
    prepare(request) {
      if (mediaType(request.headers.get("Content-Type")) === FORM)
        return { request, signed: [Buffer.from(request.url + formToSign(request, true))] }
      const hash = `bodySHA256=${sha256Hex(request.body)}`
      const url = `${request.url}${request.url.includes("?") ? "&" : "?"}${hash}`
      return { request: { ...request, url }, signed: [Buffer.from(url)] }
    },
  })
}

/**
 * Mandrill (Mailchimp Transactional): HMAC-SHA1 of the URL and each form parameter's name and value, sorted by name.
 *
 * @see https://mandrill.zendesk.com/hc/en-us/articles/360039232513-How-to-Authenticate-Webhook-Requests
 */
export function mandrill(): Family {
  return urlAndForm("X-Mandrill-Signature", "sha1", {
    read(request) {
      const form = sortedForm(request, false)
      return form instanceof Refused ? form : { signed: [Buffer.from(request.url + form)], isForm: true }
    },
    prepare(request) {
      const form = withHeaders(request, { "Content-Type": FORM })
      return { request: form, signed: [Buffer.from(form.url + formToSign(form, false))] }
    },
  })
}

interface UrlAndForm {
  /** The signed part of a request. */
  read(request: SignedRequest): Pick<Claim, "signed" | "orSigned" | "isForm"> | Refused
  /** The request to send, without its signature, and its signed part. */
  prepare(request: UnsignedRequest): { readonly request: Sendable; readonly signed: Signed }
}

/** The family of an HMAC in base64 in its own header. */
function urlAndForm(header: string, algorithm: Algorithm, { read, prepare }: UrlAndForm): Family {
  return macFamily(
    () => ({
      algorithm,
      encoding: "base64",
      read(request) {
        const signature = request.headers.get(header)
        if (signature === null || signature === "") return new Refused("missing_header", `no ${header}`)
        const signed = read(request)
        return signed instanceof Refused ? signed : { signatures: [signature], ...signed }
      },
      write(given, _nowMs, expected) {
        const { request, signed } = prepare(given)
        return withHeaders(request, { [header]: expected(signed) })
      },
    }),
    {
      family: "url-and-form",
      signsUrl: true,
      covers: () => ({ body: "form", time: false, id: false, url: true, signature: [header.toLowerCase()] }),
    },
  )
}

const FORM = "application/x-www-form-urlencoded"

/**
 * A form's names and values, joined, by name, then by value; equal pairs once if `once`. What the Decoder would refuse is
 * refused here, before it is sorted: anyone may send it.
 */
function sortedForm(
  { headers, body }: Pick<SignedRequest, "headers" | "body">,
  once: boolean,
): string | Refused {
  if (mediaType(headers.get("Content-Type")) !== FORM)
    return body.length === 0 ? "" : new Refused("malformed", "the body is not a form")
  const fields = parseUrlencoded(body)
  if (!Array.isArray(fields)) return new Refused("malformed", `the body ${fields.problem}`)
  return fields
    .toSorted((a, b) => compare(a.name, b.name) || compare(a.value, b.value))
    .filter(({ name, value }, i, all) => !once || name !== all[i - 1]?.name || value !== all[i - 1]?.value)
    .map(({ name, value }) => name + value)
    .join("")
}

function formToSign(request: Pick<SignedRequest, "headers" | "body">, once: boolean): string {
  const form = sortedForm(request, once)
  return form instanceof Refused ? "" : form
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** A URL with and without its port: as received, normalised, and with the query re-encoded. */
function spellings(url: string): string[] {
  const [, scheme = "", userinfo = "", host = "", port = "", rest = ""] =
    /^(https?:\/\/)([^/?#@]*@)?([^/?#:]*|\[[^\]]*\])(:\d+)?([/?#].*)?$/.exec(url) ?? []
  if (host === "" || !URL.canParse(url)) return [url]
  const withPort = `${scheme}${userinfo}${host}${port || (scheme === "https://" ? ":443" : ":80")}`
  const without = `${scheme}${userinfo}${host}`
  const { pathname, search } = new URL(url)
  const reencoded = search === "" ? pathname : `${pathname}?${reencode(search)}`
  return [...new Set([rest, pathname + search, reencoded])].flatMap((it) => [without + it, withPort + it])
}

/** As Node's querystring writes what it read: the values of a name together. */
function reencode(search: string): string {
  const byName = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(search)) {
    const pair = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
    const pairs = byName.get(name)
    if (pairs === undefined) byName.set(name, [pair])
    else pairs.push(pair)
  }
  return [...byName.values()].flat().join("&")
}

const sha256Hex = (bytes: Uint8Array): string => sha256([bytes], "hex")
