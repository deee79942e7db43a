import { HooklineError } from "../errors.ts"
import { certificateFailure } from "../outgoing/certificate-failure.ts"
import type { PostgresServer } from "./server.ts"

/** Says in a line why no connection was made, or one is gone, and what to do. */
export function connectFailure({ name, user }: PostgresServer, cause: unknown): HooklineError {
  const error = cause as { readonly code?: unknown; readonly message?: string }
  const text = (words: string): HooklineError =>
    new HooklineError("unavailable", `PostgreSQL at ${name} ${words}`, { cause })
  const certificate = certificateFailure(error)
  if (certificate !== undefined) {
    const advice = certificate.isUntrusted
      ? "; set postgres_ca to its CA, or sslmode=require in the URL to trust any certificate"
      : ""
    return text(`has a certificate that ${certificate.words}${advice}`)
  }
  if (error.message?.includes("does not support SSL") === true)
    return text(
      "does not offer TLS; turn it on there, or add ?sslmode=disable to the URL to send everything in clear text",
    )
  if (error.code === "28000") return text(`does not let ${user ?? "the user"} in: ${error.message}`)
  if (error.message?.includes("client password must be") === true)
    return text("asks for a password, and the URL has none")
  const words = CODES[String(error.code)]
  if (words !== undefined) return text(words.replaceAll("USER", user ?? "the user"))
  return text(`can't be used: ${error.message ?? String(cause)}`)
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html, and those of sockets. */
const CODES: { readonly [code: string]: string } = {
  "28P01": "refuses the password of USER",
  "28000":
    "does not let USER in: its pg_hba.conf has no entry for this user, database, address and encryption",
  "3D000": "has no database of that name",
  "42501":
    "lets USER neither publish to the log nor read it; grant it as its owner: hookline db init --role USER",
  "53300": "has no connection left (max_connections, or the role's limit)",
  "57P01": "was stopped",
  "57P02": "has crashed, and recovers",
  "57P03": "is starting up or shutting down",
  ECONNREFUSED: "refuses connections: is it running?",
  ECONNRESET: "closed the connection",
  ENOTFOUND: "is unknown: no such host",
  ETIMEDOUT: "does not answer",
}
