import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { Sasl } from "./auth/sasl.ts"
import {
  certificateFailureOf,
  CLIENT_CERTIFICATE,
  errorCodeOf,
  isClosed,
  isTokenRejected,
  NO_TLS,
  reasonOf,
  REQUIRES_TLS,
  responseOf,
} from "./failure.ts"

/** What a client has of its brokers: how it connects, and whether one has ever answered. */
interface Client {
  readonly tlsFiles?: object | undefined
  readonly sasl?: Sasl | undefined
  readonly hasAnswered: boolean
}

/**
 * What the failure of a connection may say of the configuration; undefined: nothing beyond its reason. A connection that is
 * closed without a word says something until a broker has answered: after that the broker may be stopping.
 *
 * @param phase `connect`: TCP, TLS and SASL; `request`: the first requests after them
 */
export function hintOf(
  error: unknown,
  { tlsFiles, sasl, hasAnswered }: Client,
  phase: "connect" | "request",
): string | undefined {
  const [hasTls, hasSasl] = [tlsFiles !== undefined, sasl !== undefined]
  const reason = reasonOf(error)
  const isSilent = isClosed(error) && !hasAnswered
  if (reason === CLIENT_CERTIFICATE) return "see ssl_certificate_location and ssl_key_location"
  if (reason === REQUIRES_TLS) return `set ${protocol(true, hasSasl)}`
  if (reason === NO_TLS || (hasTls && isSilent && phase === "connect"))
    return `the listener may not use TLS: try ${protocol(false, hasSasl)}`
  if (certificateFailureOf(error)?.isUntrusted === true) return "set ssl_ca_location to its CA"
  const code = errorCodeOf(error)
  if (code === ERROR.UNSUPPORTED_SASL_MECHANISM) {
    const { mechanisms = [] } = responseOf<{ mechanisms?: readonly string[] }>(error) ?? {}
    return `the listener does not offer ${sasl?.mechanism}: set sasl_mechanism to one of ${mechanisms.join(", ")}`
  }
  if (
    isTokenRejected(error) ||
    (code === ERROR.SASL_AUTHENTICATION_FAILED && sasl?.mechanism === "OAUTHBEARER")
  )
    return "the broker rejects the access token: compare its issuer, audience and scope with what the broker expects"
  if (code === ERROR.SASL_AUTHENTICATION_FAILED) return "check sasl_username and sasl_password"
  if (code === ERROR.ILLEGAL_SASL_STATE)
    return `the listener does not use SASL: set ${protocol(hasTls, false)}`
  if (isSilent && hasSasl && !hasTls) return `the listener may require TLS: try ${protocol(true, true)}`
  if (!isSilent || hasSasl) return undefined
  const certificate = hasTls ? ", or a client certificate (ssl_certificate_location)" : ""
  return `the listener may require SASL (${protocol(hasTls, true)})${certificate}`
}

/** The hint for the address of a broker, where its failure says nothing else: clients have it from the cluster. */
export const ADVERTISED =
  "the brokers give clients this address (advertised.listeners); it must be reachable from here, or another be advertised"

const protocol = (hasTls: boolean, hasSasl: boolean): string =>
  `security_protocol = ${hasSasl ? "sasl_" : ""}${hasTls ? "ssl" : "plaintext"}`
