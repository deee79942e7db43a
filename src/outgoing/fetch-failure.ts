/** Node's codes of what a server's certificate fails by, other than those that WORDS has. */
const CERTIFICATE = /CERT|VERIFY|SIGNATURE/

const WORDS: { readonly [code: string]: string } = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed; does the port expect https?",
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "host name not found: no DNS server answers",
  EPROTO: "TLS handshake failed; does the port expect http?",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
}

/** A request that failed on its way through a proxy; the error's name and code are those of the cause. */
export class ProxyFailure extends Error {
  readonly code: string | number | undefined
  /** `, through the proxy http://proxy.example:3128 (HTTPS_PROXY)` */
  readonly through: string

  constructor(through: string, cause: unknown) {
    super(`${fetchFailure(cause)}${through}`, { cause })
    const { name, code } = cause as Error & { readonly code?: string | number }
    this.name = name
    this.code = code
    this.through = through
  }
}

/**
 * Why a request failed, for the log. The caller names the server.
 *
 * @param caOption of the CAs that the server's certificate is checked against, where there is one
 */
export function fetchFailure(error: unknown, caOption?: string): string {
  if (error instanceof ProxyFailure) return `${fetchFailure(error.cause, caOption)}${error.through}`
  const { name, message, code = "" } = error as Error & { readonly code?: string | number }
  if (name === "TimeoutError") return "no answer in time"
  if (code in WORDS) return WORDS[code]!
  if (caOption !== undefined && CERTIFICATE.test(`${code}`))
    return `its certificate is not trusted (${message}); set ${caOption} to its CA`
  return message
}
