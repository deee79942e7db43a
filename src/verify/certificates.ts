import { X509Certificate, type KeyObject } from "node:crypto"
import type { Outside } from "./family.ts"
import { Refused } from "./verifier.ts"

const FETCH_TIMEOUT_MS = 5000
const MOST_BYTES = 65_536
/** Certificates that are kept; the oldest goes first. */
const MOST_KEPT = 16
const MOST_IN_CHAIN = 8
/** Fetches at once: anybody can name a URL that is not known, so that they must not pile up. */
const MOST_FETCHES = 4

export interface CertificateRules {
  /** Which URLs certificates may be fetched from: whoever is there decides who may sign. */
  readonly allows: (url: URL) => boolean
  /**
   * Whether the certificate must lead to a trusted authority; undefined where the host that it is fetched from vouches
   * for it. The test is of the common name.
   */
  readonly chain?: ((commonName: string) => boolean) | undefined
}

/** Fetches the certificates that requests point to, and keeps their keys. */
export class Certificates {
  readonly #kept = new Map<string, readonly X509Certificate[]>()
  readonly #fetching = new Map<string, Promise<readonly X509Certificate[] | Refused>>()
  readonly #outside: Outside
  readonly #rules: CertificateRules

  constructor(outside: Outside, rules: CertificateRules) {
    this.#outside = outside
    this.#rules = rules
  }

  /** The key of the certificate at a URL, if it may be believed now. */
  async keyAt(text: string, nowMs: number): Promise<KeyObject | Refused> {
    // two headers are joined by a comma and a space, which a parser would take as part of the path
    const url = !/\s/.test(text) && URL.canParse(text) ? new URL(text) : undefined
    const isPlain =
      url?.protocol === "https:" && url.port === "" && url.username === "" && url.password === ""
    if (url === undefined || !isPlain || !this.#rules.allows(url))
      return new Refused("wrong_claim", "the certificate is not at one of the provider's hosts")
    const chain = this.#kept.get(url.href) ?? (await this.#fetchOnce(url.href))
    if (chain instanceof Refused) return chain
    const wrong = this.#check(chain, nowMs)
    return wrong === undefined ? chain[0]!.publicKey : new Refused("wrong_claim", wrong)
  }

  /** Fetches once for all who wait for the same. */
  async #fetchOnce(url: string): Promise<readonly X509Certificate[] | Refused> {
    const already = this.#fetching.get(url)
    if (already !== undefined) return already
    if (this.#fetching.size >= MOST_FETCHES)
      return new Refused("keys_unavailable", "too many certificates are being fetched")
    const fetching = this.#fetch(url).finally(() => this.#fetching.delete(url))
    this.#fetching.set(url, fetching)
    return fetching
  }

  async #fetch(url: string): Promise<readonly X509Certificate[] | Refused> {
    let text: string
    try {
      const response = await this.#outside.fetch(url, {
        redirect: "error",
        signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
      })
      if (!response.ok)
        return new Refused("keys_unavailable", `fetching the certificate gave ${response.status}`)
      text = await response.text()
    } catch (error) {
      return new Refused(
        "keys_unavailable",
        `the certificate could not be fetched: ${(error as Error).message}`,
      )
    }
    const pems = text.length > MOST_BYTES ? [] : (text.match(PEM) ?? [])
    let chain: X509Certificate[]
    try {
      chain = pems.slice(0, MOST_IN_CHAIN).map((pem) => new X509Certificate(pem))
    } catch {
      chain = []
    }
    if (chain.length === 0) return new Refused("keys_unavailable", "what was fetched is no certificate")
    if (this.#kept.size >= MOST_KEPT) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(url, chain)
    return chain
  }

  /** What is wrong with a chain, the signer's certificate first. */
  #check(chain: readonly X509Certificate[], nowMs: number): string | undefined {
    for (const { validFrom, validTo } of chain) {
      if (Date.parse(validFrom) > nowMs || Date.parse(validTo) < nowMs)
        return "the certificate is not valid now"
    }
    const { chain: isName } = this.#rules
    if (isName === undefined) return undefined
    const commonName = /^CN=(.*)$/m.exec(chain[0]!.subject)?.[1] ?? ""
    if (!isName(commonName)) return "the certificate is not the provider's"
    for (let i = 0; i + 1 < chain.length; i++) {
      if (!isIssuedBy(chain[i]!, chain[i + 1]!)) return "the certificates do not lead to each other"
    }
    const last = chain.at(-1)!
    const isTrusted = this.#outside.rootCertificates.some((pem) => {
      const root = new X509Certificate(pem)
      return root.fingerprint256 === last.fingerprint256 || isIssuedBy(last, root)
    })
    return isTrusted ? undefined : "the certificate does not lead to a trusted authority"
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
