/** The network as verifiers see it; tests pass their own. */
export interface Fetcher {
  /** Gets keys and certificates. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  /** Trusted root certificates, in PEM. */
  readonly rootCertificates: readonly string[]
}
