import { HooklineError, OptionError } from "../../errors.ts"
import { certificateFailure, type CertificateFailure } from "../../outgoing/certificate-failure.ts"
import { TokenFailure, TokenRejected } from "./auth/access-tokens.ts"

/** Reads the client library's errors, which nest: an error may hold several, each with a cause. */

interface Nested {
  readonly message?: string
  readonly code?: unknown
  readonly apiCode?: unknown
  readonly response?: unknown
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
}

/** Kafka's own error code within an error; undefined when there is none. */
export function errorCodeOf(error: unknown): number | undefined {
  return search(error, ({ apiCode }) => (typeof apiCode === "number" ? apiCode : undefined))
}

/** The response of a request, also where the library throws it since parts of it carry errors. */
export async function partial<Response>(request: Promise<Response>): Promise<Response> {
  try {
    return await request
  } catch (error) {
    const response = responseOf<Response>(error)
    if (response === undefined) throw error
    return response
  }
}

/** A connection to a broker, or the first request on it, failed. The cause has the reason. */
export class BrokerFailure extends Error {
  /** Its address. */
  readonly broker: string
  /** What it may say of the configuration, see hints.ts. */
  readonly hint: string | undefined

  constructor(broker: string, hint: string | undefined, cause: unknown) {
    super(`${broker}: ${reasonOf(cause)}`, { cause })
    this.broker = broker
    this.hint = hint
  }
}

/** The failure of a broker within an error; undefined when there is none. */
export const brokerFailureOf = (error: unknown): BrokerFailure | undefined =>
  search(error, (it) => (it instanceof BrokerFailure ? it : undefined))

/** Whether a broker rejected the access token. */
export const isTokenRejected = (error: unknown): boolean =>
  search(error, (it) => it instanceof TokenRejected || undefined) === true

/** The reason, with the broker's address and a hint where there are. */
export function explain(error: unknown): string {
  const { broker, hint } = brokerFailureOf(error) ?? {}
  return `${reasonOf(error)}${broker === undefined ? "" : ` (${broker})`}${hint === undefined ? "" : `; ${hint}`}`
}

/** The fault of a request that failed with an error of the client library. */
export const unavailable = (error: unknown): HooklineError =>
  new HooklineError("unavailable", `Kafka unavailable: ${explain(error)}`, { cause: error })

export function responseOf<Response>(error: unknown): Response | undefined {
  return search(error, ({ response }) => response as Response | undefined)
}

export const AUTHENTICATION_FAILED = "authentication failed"
export const REQUIRES_TLS = "the broker requires TLS"
export const NO_TLS = "the answer is not TLS"
export const CLIENT_CERTIFICATE = "the broker requires a client certificate that it trusts"

/** Messages that have no code. */
const BY_MESSAGE: readonly (readonly [part: string, reason: string])[] = [
  ["Broker requires TLS", REQUIRES_TLS],
  ["WRONG_VERSION_NUMBER", NO_TLS],
  ["ALERT_BAD_CERTIFICATE", CLIENT_CERTIFICATE],
  ["ALERT_CERTIFICATE_REQUIRED", CLIENT_CERTIFICATE],
  ["ALERT_CERTIFICATE_UNKNOWN", CLIENT_CERTIFICATE],
]

/** Why a connection or request failed, in a few words without secrets. */
export function reasonOf(error: unknown): string {
  const known = search(error, ({ message = "" }) => BY_MESSAGE.find(([part]) => message.includes(part))?.[1])
  if (known !== undefined) return known
  const isRefused = search(error, ({ code }) => code === "PLT_KFK_AUTHENTICATION" || undefined)
  const unissued = search(error, (it) =>
    it instanceof TokenFailure || it instanceof OptionError ? it.message : undefined,
  )
  if (unissued !== undefined) return unissued
  if (isRefused === true) return AUTHENTICATION_FAILED
  const certificate = certificateFailureOf(error)
  if (certificate !== undefined) return `its certificate ${certificate.words}`
  return search(error, ({ code }) => SYSTEM[String(code)]) ?? innermost(error)
}

/** What is wrong with a broker's certificate; undefined: the connection failed for another reason. */
export const certificateFailureOf = (error: unknown): CertificateFailure | undefined =>
  search(error, certificateFailure)

const CONNECTION_RESET = "connection reset"
const CONNECTION_CLOSED = "connection closed"

const SYSTEM: { readonly [code: string]: string } = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: CONNECTION_RESET,
  EPIPE: CONNECTION_RESET,
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "host name not found: no DNS server answers",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "no route to host",
  ETIMEDOUT: "no answer",
}

/** Whether a reason is one of those that follow each other while a broker goes down and comes back. */
export function isOutage(reason: string): boolean {
  return reason === CONNECTION_CLOSED || Object.values(SYSTEM).includes(reason)
}

/** Whether a request failed since its connection was closed before the answer, by whichever side. */
export function isClosed(error: unknown): boolean {
  return [CONNECTION_CLOSED, CONNECTION_RESET].includes(reasonOf(error))
}

function innermost(error: unknown): string {
  const { cause, errors, message } = error as Nested
  const inner = cause ?? errors?.at(-1)
  if (inner !== undefined) return innermost(inner)
  if (message?.startsWith("Connection closed") === true) return CONNECTION_CLOSED
  return /timed out/i.test(message ?? "") ? "no answer" : (message ?? String(error))
}

function search<T>(error: unknown, find: (error: Nested) => T | undefined): T | undefined {
  if (typeof error !== "object" || error === null) return undefined
  const found = find(error)
  if (found !== undefined) return found
  const { cause, errors = [] } = error as Nested
  for (const inner of [cause, ...errors]) {
    const nested = search(inner, find)
    if (nested !== undefined) return nested
  }
  return undefined
}
