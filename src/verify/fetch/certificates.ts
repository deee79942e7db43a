import type { X509Certificate } from "node:crypto"
import { within } from "../../clock/clock.ts"
import { RecentFailures } from "./recent-failures.ts"
import { isIssuedBy, issuerUrlOf, namesOf, readCertificates, trustIn } from "./certificate-chain.ts"
import { fetchBounded } from "../../outgoing/fetch-bounded.ts"
import { fetchFailure } from "../../outgoing/proxied-fetch.ts"
import type { Fetcher } from "./fetcher.ts"
import { shortRsa } from "../schemes/public-key.ts"
import { FetchSlots } from "./slots.ts"
import { Refused } from "../verifier.ts"

const BOUNDS = { mostBytes: 65_536, timeoutMs: 5000 }
/** How long a request waits for a certificate, queueing included. */
const WAIT_MS = 10_000
const MOST_CACHED = 16
/** URLs remembered as failed. */
const MOST_FAILED = 256
const MOST_IN_CHAIN = 8

export interface CertificateRules {
  /** Whether certificates may be fetched from a URL: https, without port, user, query and fragment. */
  readonly allows: (url: URL) => boolean
  /** Whether a certificate from such a URL may have these names. */
  readonly isFor: (names: readonly string[], url: URL) => boolean
}

/** A trusted chain, at any time. */
interface Cached {
  readonly chain: readonly X509Certificate[]
  /** Whether it has verified a signature. */
  isProven: boolean
}

/**
 * Fetches the certificates that requests point to, checks names and chain, and caches them.
 */
export class Certificates {
  /** Least recently used first. */
  readonly #cached = new Map<string, Cached>()
  readonly #failed = new RecentFailures<Refused>(MOST_FAILED)
  readonly #hosts = new Map<string, FetchSlots<Cached | Refused>>()
  readonly #fetcher: Fetcher
  readonly #isTrusted: (certificate: X509Certificate) => boolean
  readonly #rules: CertificateRules

  constructor(fetcher: Fetcher, rules: CertificateRules) {
    this.#fetcher = fetcher
    this.#isTrusted = trustIn(fetcher.rootCertificates)
    this.#rules = rules
  }

  /** The key of the certificate at a URL, if it is valid now. */
  async keyAt(text: string, nowMs: number) {
    const url = this.#pinned(text)
    if (url === undefined) return new Refused("wrong_claim", "the certificate URL is not the provider's")
    const cached = this.#cached.get(url.href) ?? (await this.#fetchInTime(url, nowMs))
    if (cached instanceof Refused) return cached
    if (!cached.chain.every((it) => isValidAt(it, nowMs)))
      return new Refused("wrong_claim", "the certificate is expired or not yet valid")
    /** Marks it as having verified a signature: unproven certificates are evicted first. */
    const prove = (): void => {
      cached.isProven = true
      if (this.#cached.delete(url.href)) this.#cached.set(url.href, cached)
    }
    return { key: cached.chain[0]!.publicKey, prove }
  }

  /** The URL, if allowed and in normal form: parsers would silently repair others. */
  #pinned(text: string): URL | undefined {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isPlain =
      url?.protocol === "https:" &&
      url.href === text &&
      [url.port, url.username, url.password, url.search, url.hash].every((it) => it === "") &&
      !/[?#]/.test(text)
    return isPlain && this.#rules.allows(url) ? url : undefined
  }

  async #fetchInTime(url: URL, nowMs: number): Promise<Cached | Refused> {
    const failure = this.#failed.reason(url.href, nowMs)
    if (failure !== undefined) return failure
    const fetched = await within(WAIT_MS, this.#fetch(url, nowMs), () => undefined)
    return fetched ?? new Refused("keys_unavailable", "too many certificate fetches in progress")
  }

  #fetch(url: URL, nowMs: number): Promise<Cached | Refused | undefined> {
    let slots = this.#hosts.get(url.host)
    if (slots === undefined) this.#hosts.set(url.host, (slots = new FetchSlots()))
    return slots.fetch(url.href, async () => {
      const fetched = await this.#fetchChain(url)
      if (fetched instanceof Refused) this.#failed.failed(url.href, fetched, nowMs)
      return fetched instanceof Refused ? fetched : this.#cache(url.href, fetched)
    })
  }

  async #fetchChain(url: URL): Promise<readonly X509Certificate[] | Refused> {
    try {
      const chain = await this.#complete(await this.#certificatesAt(url.href))
      const wrong = this.#check(chain, url)
      return wrong === undefined ? chain : new Refused("wrong_claim", wrong)
    } catch (error) {
      return new Refused("keys_unavailable", `fetching the certificate failed: ${fetchFailure(error)}`)
    }
  }

  #cache(url: string, chain: readonly X509Certificate[]): Cached {
    this.#failed.succeeded(url)
    if (this.#cached.size >= MOST_CACHED) {
      const [first, ...others] = this.#cached
      const [unproven] = [first!, ...others].find(([, { isProven }]) => !isProven) ?? first!
      this.#cached.delete(unproven)
    }
    const cached = { chain, isProven: false }
    this.#cached.set(url, cached)
    return cached
  }

  /** @throws Error */
  async #certificatesAt(url: string): Promise<X509Certificate[]> {
    const { status, bytes } = await fetchBounded(this.#fetcher, url, BOUNDS)
    if (status !== 200) throw new Error(`HTTP ${status}`)
    const certificates = readCertificates(bytes)?.slice(0, MOST_IN_CHAIN)
    if (certificates === undefined) throw new Error("not a certificate")
    return certificates
  }

  /** Fetches missing issuers up to a root from the URLs in the certificates. */
  async #complete(given: readonly X509Certificate[]): Promise<readonly X509Certificate[]> {
    const chain = [...given]
    while (chain.length < MOST_IN_CHAIN && !this.#isTrusted(chain.at(-1)!)) {
      const url = issuerUrlOf(chain.at(-1)!)
      if (url === undefined) break
      const [issuer] = await this.#certificatesAt(url)
      if (!isIssuedBy(chain.at(-1)!, issuer!)) break
      chain.push(issuer!)
    }
    return chain
  }

  /** The problem with a chain, leaf first, apart from validity periods. */
  #check(chain: readonly X509Certificate[], url: URL): string | undefined {
    if (!this.#rules.isFor(namesOf(chain[0]!), url)) return "the certificate is for another name"
    for (const { publicKey } of chain) {
      const short = shortRsa(publicKey.asymmetricKeyDetails?.modulusLength)
      if (short !== undefined) return `the certificate chain has ${short}`
    }
    for (let i = 0; i + 1 < chain.length; i++)
      if (!isIssuedBy(chain[i]!, chain[i + 1]!)) return "broken certificate chain"
    return this.#isTrusted(chain.at(-1)!) ? undefined : "untrusted certificate chain"
  }
}

const isValidAt = ({ validFrom, validTo }: X509Certificate, ms: number): boolean =>
  Date.parse(validFrom) <= ms && ms <= Date.parse(validTo)
