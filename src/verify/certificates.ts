import type { KeyObject, X509Certificate } from "node:crypto"
import { BackOff } from "./back-off.ts"
import { Authorities, isIssuedBy, issuerUrlOf, namesOf, readCertificates } from "./certificate-chain.ts"
import type { Outside } from "./family.ts"
import { fetchBounded } from "./fetch-bounded.ts"
import { FetchSlots } from "./fetch-slots.ts"
import { Refused } from "./verifier.ts"

const BOUNDS = { mostBytes: 65_536, timeoutMs: 5000 }
/** How long a request waits for a certificate to be fetched, its turn included. */
const WAIT_MS = 10_000
/** Certificates that are kept. */
const MOST_KEPT = 16
/** URLs that are known to give none. */
const MOST_FAILED = 256
const MOST_IN_CHAIN = 8

export interface CertificateRules {
  /**
   * Which URLs certificates may be fetched from: whoever is there decides who may sign. Asked of https URLs without port,
   * user, query and fragment.
   */
  readonly allows: (url: URL) => boolean
  /** Whether the certificate at such a URL may be for these names. */
  readonly isFor: (names: readonly string[], url: URL) => boolean
}

/** A certificate that leads to a trusted authority, whatever the time is. */
interface Kept {
  readonly chain: readonly X509Certificate[]
  /** Whether a signature was right by it. */
  isProven: boolean
}

/** The key of a certificate that may be believed now. */
export interface CertificateKey {
  readonly key: KeyObject
  /** Tells that a signature was right by it: it is kept before those of which nobody knows. */
  readonly prove: () => void
}

/**
 * Fetches the certificates that requests point to, checks that they are the provider's and lead to a trusted authority, and
 * keeps their keys.
 */
export class Certificates {
  /** In the order of their use. */
  readonly #kept = new Map<string, Kept>()
  readonly #failed = new BackOff<Refused>(MOST_FAILED)
  readonly #hosts = new Map<string, FetchSlots<Kept | Refused>>()
  readonly #outside: Outside
  readonly #authorities: Authorities
  readonly #rules: CertificateRules

  constructor(outside: Outside, rules: CertificateRules) {
    this.#outside = outside
    this.#authorities = new Authorities(outside.rootCertificates)
    this.#rules = rules
  }

  /** The key of the certificate at a URL, if it may be believed now. */
  async keyAt(text: string, nowMs: number): Promise<CertificateKey | Refused> {
    const url = this.#pinned(text)
    if (url === undefined)
      return new Refused("wrong_claim", "the certificate is not at one of the provider's URLs")
    const kept = this.#kept.get(url.href) ?? (await this.#fetchInTime(url, nowMs))
    if (kept instanceof Refused) return kept
    if (!kept.chain.every((it) => isValidAt(it, nowMs)))
      return new Refused("wrong_claim", "the certificate is not valid now")
    const prove = (): void => {
      kept.isProven = true
      if (this.#kept.delete(url.href)) this.#kept.set(url.href, kept)
    }
    return { key: kept.chain[0]!.publicKey, prove }
  }

  /** The URL when it is spelled as it is fetched, to the letter: a parser would mend what is odd. */
  #pinned(text: string): URL | undefined {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isPlain =
      url?.protocol === "https:" &&
      url.href === text &&
      [url.port, url.username, url.password, url.search, url.hash].every((it) => it === "") &&
      !/[?#]/.test(text)
    return isPlain && this.#rules.allows(url) ? url : undefined
  }

  async #fetchInTime(url: URL, nowMs: number): Promise<Kept | Refused> {
    const failure = this.#failed.reason(url.href, nowMs)
    if (failure !== undefined) return failure
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => late.resolve(undefined), WAIT_MS)
    try {
      const fetched = await Promise.race([this.#fetch(url, nowMs), late.promise])
      return fetched ?? new Refused("keys_unavailable", "too many certificates are being fetched")
    } finally {
      clearTimeout(timer)
    }
  }

  #fetch(url: URL, nowMs: number): Promise<Kept | Refused | undefined> {
    let slots = this.#hosts.get(url.host)
    if (slots === undefined) this.#hosts.set(url.host, (slots = new FetchSlots()))
    return slots.fetch(url.href, async () => {
      const fetched = await this.#fetchChain(url)
      if (fetched instanceof Refused) this.#failed.failed(url.href, fetched, nowMs)
      return fetched instanceof Refused ? fetched : this.#keep(url.href, fetched)
    })
  }

  async #fetchChain(url: URL): Promise<readonly X509Certificate[] | Refused> {
    try {
      const chain = await this.#complete(await this.#certificatesAt(url.href))
      const wrong = this.#check(chain, url)
      return wrong === undefined ? chain : new Refused("wrong_claim", wrong)
    } catch (error) {
      return new Refused(
        "keys_unavailable",
        `the certificate could not be fetched: ${(error as Error).message}`,
      )
    }
  }

  #keep(url: string, chain: readonly X509Certificate[]): Kept {
    this.#failed.succeeded(url)
    if (this.#kept.size >= MOST_KEPT) {
      const [first, ...others] = this.#kept
      const [unproven] = [first!, ...others].find(([, { isProven }]) => !isProven) ?? first!
      this.#kept.delete(unproven)
    }
    const kept = { chain, isProven: false }
    this.#kept.set(url, kept)
    return kept
  }

  /** @throws Error */
  async #certificatesAt(url: string): Promise<X509Certificate[]> {
    const { status, bytes } = await fetchBounded(this.#outside, url, BOUNDS)
    if (status !== 200) throw new Error(`fetching it gave ${status}`)
    const certificates = readCertificates(bytes)?.slice(0, MOST_IN_CHAIN)
    if (certificates === undefined) throw new Error("what was fetched is no certificate")
    return certificates
  }

  /** Adds what is missing between a chain's last certificate and the authorities, from where that certificate says. */
  async #complete(given: readonly X509Certificate[]): Promise<readonly X509Certificate[]> {
    const chain = [...given]
    while (chain.length < MOST_IN_CHAIN && !this.#authorities.trust(chain.at(-1)!)) {
      const url = issuerUrlOf(chain.at(-1)!)
      if (url === undefined) break
      const [issuer] = await this.#certificatesAt(url)
      if (!isIssuedBy(chain.at(-1)!, issuer!)) break
      chain.push(issuer!)
    }
    return chain
  }

  /** What is wrong with a chain, the signer's certificate first, whatever the time is. */
  #check(chain: readonly X509Certificate[], url: URL): string | undefined {
    if (!this.#rules.isFor(namesOf(chain[0]!), url)) return "the certificate is not the provider's"
    for (let i = 0; i + 1 < chain.length; i++)
      if (!isIssuedBy(chain[i]!, chain[i + 1]!)) return "the certificates do not lead to each other"
    return this.#authorities.trust(chain.at(-1)!)
      ? undefined
      : "the certificate does not lead to a trusted authority"
  }
}

const isValidAt = ({ validFrom, validTo }: X509Certificate, ms: number): boolean =>
  Date.parse(validFrom) <= ms && ms <= Date.parse(validTo)
