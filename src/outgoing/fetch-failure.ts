/** Node's codes of what a server's certificate fails by, other than those that WORDS has. */
const CERTIFICATE = /CERT|VERIFY|SIGNATURE/

const WORDS: { readonly [code: string]: string } = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed; does the port expect https?",
  ENOTFOUND: "host name not found",
  EPROTO: "TLS handshake failed; does the port expect http?",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
}

/**
 * Why a bounded fetch failed, for the log. The caller names the server.
 *
 * @param caOption of the CAs that the server's certificate is checked against
 */
export function fetchFailure(error: unknown, caOption: string): string {
  const { name, message, code = "" } = error as Error & { readonly code?: string }
  if (name === "TimeoutError") return "no answer in time"
  if (code in WORDS) return WORDS[code]!
  return CERTIFICATE.test(code)
    ? `its certificate is not trusted (${message}); set ${caOption} to its CA`
    : message
}
