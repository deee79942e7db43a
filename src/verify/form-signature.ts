import { parse, stringify } from "node:querystring"
import type { Family } from "./family.ts"
import { macFamily } from "./mac-family.ts"
import { sameText } from "./constant-time.ts"
import type { Signed } from "./payload.ts"
import type { Claim } from "./signature.ts"
import { Refused, type Sendable, type SignedRequest, type UnsignedRequest } from "./verifier.ts"

/*
 * These schemes join names and values without separators, so that whoever has one signed request can cut the same text
 * into other parameters, and, where a parameter is a stranger's text (a message's), into a body that is JSON too. Hence a
 * body that was verified this way is a form and nothing else (`isForm`), and Twilio's hash of a body counts only at the
 * very end of the URL: elsewhere it may be a piece of a parameter.
 */

/**
 * Twilio: HMAC-SHA1 of the URL, followed by each form parameter's name and value, sorted by name. A body that is not a
 * form is signed by its SHA-256 in the URL's last parameter, `bodySHA256`. Twilio signs the URL at times with the port and at
 * times without, and at times with its query spelled anew, so each is tried, as by its own library.
 *
 * @see https://www.twilio.com/docs/usage/security#validating-requests
 */
export function twilio(): Family {
  return urlAndForm("X-Twilio-Signature", {
    read(request) {
      const hash = /[?&]bodySHA256=([0-9a-f]{64})$/i.exec(request.url)?.[1]
      if (hash !== undefined && !sameText(sha256Hex(request.body), hash.toLowerCase()))
        return new Refused("no_match", "the body does not have the bodySHA256 of the URL")
      const form = hash === undefined ? sortedForm(request, true) : ""
      if (form === undefined)
        return new Refused("malformed", "the body is no form, and the URL has no bodySHA256")
      const [url, ...others] = spellings(request.url)
      const isForm = hash === undefined
      return { signed: [url! + form], orSigned: others.map((it) => [it + form]), isForm }
    },
    prepare(request) {
      if (mediaType(request.headers) === FORM)
        return { request, signed: [request.url + (sortedForm(request, true) ?? "")] }
      const hash = `bodySHA256=${sha256Hex(request.body)}`
      const url = `${request.url}${request.url.includes("?") ? "&" : "?"}${hash}`
      return { request: { ...request, url }, signed: [url] }
    },
  })
}

/**
 * Mandrill (Mailchimp Transactional): HMAC-SHA1 of the URL, followed by each form parameter's name and value, sorted by
 * name.
 *
 * @see https://mandrill.zendesk.com/hc/en-us/articles/360039232513-How-to-Authenticate-Webhook-Requests
 */
export function mandrill(): Family {
  return urlAndForm("X-Mandrill-Signature", {
    read(request) {
      const form = sortedForm(request, false)
      return form === undefined
        ? new Refused("malformed", "the body is no form")
        : { signed: [request.url + form], isForm: true }
    },
    prepare(request) {
      const headers = new Headers(request.headers)
      headers.set("Content-Type", FORM)
      const form = sortedForm({ ...request, headers }, false) ?? ""
      return { request: { ...request, headers }, signed: [request.url + form] }
    },
  })
}

interface UrlAndForm {
  /** What of a request was signed. */
  read(request: SignedRequest): Pick<Claim, "signed" | "orSigned" | "isForm"> | Refused
  /** The request as it will be sent, apart from its signature, and what of it is to be signed. */
  prepare(request: UnsignedRequest): { readonly request: Sendable; readonly signed: Signed }
}

/** The family of an HMAC-SHA1 in base64 in a header of its own. */
function urlAndForm(header: string, { read, prepare }: UrlAndForm): Family {
  return macFamily(
    () => ({
      signsUrl: true,
      algorithm: "sha1",
      encoding: "base64",
      read(request) {
        const signature = request.headers.get(header)
        if (signature === null || signature === "") return new Refused("missing_header", `no ${header}`)
        const signed = read(request)
        return signed instanceof Refused ? signed : { signatures: [signature], ...signed }
      },
      write(given, _nowMs, expected) {
        const { request, signed } = prepare(given)
        const { method, url, body } = request
        const headers = new Headers(request.headers)
        headers.set(header, expected(signed))
        return { method, url, headers, body }
      },
    }),
    { family: "url-and-form", signsUrl: true, covers: () => ({ body: "form", time: false, id: false }) },
  )
}

const FORM = "application/x-www-form-urlencoded"

const mediaType = (headers: Headers): string =>
  (headers.get("Content-Type") ?? "").split(";", 1)[0]!.trim().toLowerCase()

/**
 * Names and values of a form, one after the other, by name, then by value; equal pairs count once where `once`.
 * undefined for another body: taken as it is, it could be made to say what another form's parameters do.
 */
function sortedForm(
  { headers, body }: Pick<SignedRequest, "headers" | "body">,
  once: boolean,
): string | undefined {
  if (mediaType(headers) !== FORM) return body.length === 0 ? "" : undefined
  // a question mark at the start would be left out: one is put before it
  const pairs = [...new URLSearchParams(`?${Buffer.from(body).toString()}`)]
  pairs.sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
  return pairs
    .filter(([name, value], i) => !once || i === 0 || pairs[i - 1]![0] !== name || pairs[i - 1]![1] !== value)
    .flat()
    .join("")
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** A URL without its port and with it, each as it came, as the URL standard spells it, and with the query spelled anew. */
function spellings(url: string): string[] {
  const [, scheme = "", userinfo = "", host = "", port = "", rest = ""] =
    /^(https?:\/\/)([^/?#@]*@)?([^/?#:]*|\[[^\]]*\])(:\d+)?([/?#].*)?$/.exec(url) ?? []
  if (host === "" || !URL.canParse(url)) return [url]
  const withPort = `${scheme}${userinfo}${host}${port || (scheme === "https://" ? ":443" : ":80")}`
  const without = `${scheme}${userinfo}${host}`
  const { pathname, search } = new URL(url)
  const anew = search === "" ? pathname : `${pathname}?${stringify(parse(search.slice(1)))}`
  return [...new Set([rest, pathname + search, anew])].flatMap((it) => [without + it, withPort + it])
}

const sha256Hex = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex")
