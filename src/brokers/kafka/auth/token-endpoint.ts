import { createPrivateKey, randomUUID, type KeyObject } from "node:crypto"
import { readCas, readPem } from "../../../process/pem-files.ts"
import { readJson } from "../../../json/read.ts"
import { fetchBounded } from "../../../outgoing/fetch-bounded.ts"
import { fetchFailure, proxiedFetch } from "../../../outgoing/proxied-fetch.ts"
import type { KafkaOptions } from "../options.ts"
import { TOKEN_TIMEOUT_MS } from "../timeouts.ts"
import { type AccessToken, TokenFailure, type TokenIssuer } from "./access-tokens.ts"

/** How the client shows the token endpoint who it is. */
type ClientProof = (body: URLSearchParams) => Promise<{ readonly authorization?: string }>

/**
 * An OAuth 2 token endpoint, by the grant of client credentials (RFC 6749, section 4.4).
 *
 * @throws OptionError `config` of a file that can't be read, or is unusable
 */
export function tokenEndpoint(options: KafkaOptions): TokenIssuer {
  const { sasl_oauth_token_endpoint: url = "", sasl_oauth_scope: scope } = options
  const { origin, pathname } = new URL(url)
  const name = `token endpoint ${origin}${pathname}`
  const caFile = options.sasl_oauth_ca_location
  const tls = caFile && { tls: { ca: readCas("sasl_oauth_ca_location", caFile) } }
  const prove = proofOf(options)
  const issue = async (): Promise<AccessToken> => {
    const body = new URLSearchParams({ grant_type: "client_credentials" })
    if (scope !== undefined) body.set("scope", scope)
    const headers = { Accept: "application/json", ...(await prove(body)) }
    const { status, bytes } = await fetchBounded({ fetch: proxiedFetch }, url, {
      ...BOUNDS,
      ...tls,
      method: "POST",
      headers,
      body,
    })
    const answer = (readJson(bytes) ?? {}) as Answer
    if (status !== 200) throw new Error(`HTTP ${status}${refusal(answer)}`)
    return readToken(answer)
  }
  return {
    name,
    issue: () =>
      issue().catch((cause: unknown) => {
        throw new TokenFailure(`${name}: ${fetchFailure(cause, "sasl_oauth_ca_location")}`, { cause })
      }),
  }
}

const BOUNDS = { mostBytes: 65_536, timeoutMs: TOKEN_TIMEOUT_MS } as const

function proofOf(options: KafkaOptions): ClientProof {
  const { sasl_oauth_client_id: id = "", sasl_oauth_client_secret: secret } = options
  const { sasl_oauth_assertion_key: file, sasl_oauth_assertion_key_id: kid } = options
  if (file !== undefined) {
    const key = readPem("sasl_oauth_assertion_key", file, readSigningKey)
    const audience = options.sasl_oauth_token_endpoint!
    return async (body) => {
      body.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      body.set("client_assertion", await signAssertion({ ...key, kid, id, audience }))
      return {}
    }
  }
  const basic = Buffer.from(`${formEncode(id)}:${formEncode(secret ?? "")}`).toString("base64")
  return () => Promise.resolve({ authorization: `Basic ${basic}` })
}

/** As in a form: RFC 6749, section 2.3.1. */
const formEncode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1)

interface SigningKey {
  readonly key: KeyObject
  readonly alg: string
}

function readSigningKey(pem: string): SigningKey {
  const key = createPrivateKey(pem)
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const alg = ALGORITHMS[`${type}${details?.namedCurve === undefined ? "" : ` ${details.namedCurve}`}`]
  if (alg === undefined) throw new Error(`a key of type ${type} can't sign assertions`)
  return { key, alg }
}

const ALGORITHMS: { readonly [type: string]: string } = {
  rsa: "RS256",
  "ec prime256v1": "ES256",
  "ec secp384r1": "ES384",
  "ec secp521r1": "ES512",
  ed25519: "EdDSA",
}

/** A signed statement of the client's id for the token endpoint: RFC 7523, section 3. */
async function signAssertion(given: SigningKey & { kid: string | undefined; id: string; audience: string }) {
  const { key, alg, kid, id, audience } = given
  // on demand: few connections need it
  const { SignJWT } = await import("jose")
  return new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ alg, typ: "JWT", ...(kid !== undefined && { kid }) })
    .setIssuer(id)
    .setSubject(id)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime("2m")
    .sign(key)
}

interface Answer {
  readonly access_token?: unknown
  readonly token_type?: unknown
  readonly expires_in?: unknown
  readonly error?: unknown
  readonly error_description?: unknown
}

/** `: invalid_client (the client is unknown)`, where it is printable. RFC 6749, section 5.2. */
function refusal({ error, error_description: description }: Answer): string {
  const show = (it: unknown): string | undefined =>
    typeof it === "string" ? it.replace(/[^\x20-\x7e]+/g, " ").slice(0, 200) : undefined
  const [code, more] = [show(error), show(description)]
  return code === undefined ? "" : `: ${code}${more === undefined ? "" : ` (${more})`}`
}

function readToken({ access_token: value, token_type: type, expires_in: seconds }: Answer): AccessToken {
  // what else there is could end the SASL message early: RFC 6750, section 2.1
  if (typeof value !== "string" || !/^[\w\-.~+/]+=*$/.test(value))
    throw new Error("no access_token in the answer")
  if (typeof type === "string" && type.toLowerCase() !== "bearer")
    throw new Error(`a token of type ${type.slice(0, 20)}`)
  const lifetimeMs = Number(seconds ?? Number.NaN) * 1000
  return { value, lifetimeMs: lifetimeMs > 0 ? lifetimeMs : UNKNOWN_LIFETIME_MS }
}

/** The assumed lifetime of a token without `expires_in`. */
const UNKNOWN_LIFETIME_MS = 300_000
