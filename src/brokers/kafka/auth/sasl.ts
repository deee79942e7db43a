import { ERROR } from "../../../kafka-protocol/error-codes.ts"
import {
  AuthenticationError,
  saslAuthenticateV0,
  saslAuthenticateV1,
  saslAuthenticateV2,
  saslHandshakeV1,
  saslOAuthBearer,
  saslPlain,
  saslScramSha,
  type Connection,
} from "../client-library.ts"
import type { KafkaOptions } from "../options.ts"
import { errorCodeOf } from "../failure.ts"
import { AccessTokens, TokenRejected } from "./access-tokens.ts"
import type { CredentialTelemetry } from "./credential-telemetry.ts"
import { mskIam } from "./msk-iam.ts"
import { tokenEndpoint } from "./token-endpoint.ts"

/** A mechanism, with what it shows the brokers. */
export type Sasl =
  | {
      readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512"
      readonly username: string
      readonly password: string
    }
  | {
      readonly mechanism: "OAUTHBEARER"
      readonly token: () => Promise<string>
      readonly extensions: { readonly [name: string]: string }
    }

export interface Authentication {
  readonly sasl?: Sasl
  /** Set for a mechanism that shows the brokers an access token. */
  readonly tokens?: AccessTokens
}

/** How connections authenticate; empty: they don't. @throws OptionError `config` */
export function authentication(
  options: KafkaOptions,
  telemetry: CredentialTelemetry | undefined,
): Authentication {
  const { security_protocol: protocol, sasl_mechanism: mechanism } = options
  if (mechanism === undefined || !protocol.startsWith("sasl_")) return {}
  if (mechanism !== "OAUTHBEARER" && mechanism !== "AWS_MSK_IAM") {
    const { sasl_username: username = "", sasl_password: password = "" } = options
    return { sasl: { mechanism, username, password } }
  }
  const issuer = mechanism === "AWS_MSK_IAM" ? mskIam(options) : tokenEndpoint(options)
  const tokens = new AccessTokens(issuer, telemetry)
  const extensions = options.sasl_oauth_extensions
  const sasl: Sasl = {
    // MSK takes IAM's tokens by this mechanism too, which is how clients other than Java's authenticate
    mechanism: "OAUTHBEARER",
    token: async () => (await tokens.get()).value,
    extensions: Object.fromEntries(extensions ?? []),
  }
  return { sasl, tokens }
}

/** Versions of SaslAuthenticate, the newest first: of Kafka 2.4, 2.0 and 1.0. */
export const SASL_AUTHENTICATE: readonly AuthenticateApi[] = [
  saslAuthenticateV2,
  saslAuthenticateV1,
  saslAuthenticateV0,
]

/**
 * Authenticates a connection, also once more when a session nears its end (KIP-368).
 *
 * @returns how long the session lasts, in milliseconds; 0: it has no end
 * @throws AuthenticationError, TokenRejected
 */
export async function authenticate(
  connection: Connection,
  sasl: Sasl,
  { api }: AuthenticateApi,
): Promise<number> {
  try {
    await saslHandshakeV1.api.async(connection, sasl.mechanism)
  } catch (error) {
    throw new AuthenticationError("no suitable SASL mechanism", { cause: error as Error })
  }
  try {
    const { authBytes, sessionLifetimeMs } = await exchange(connection, sasl, api)
    // a broker that rejects a token says why in an answer that is otherwise a success: RFC 7628, section 3.2.2
    if (sasl.mechanism === "OAUTHBEARER" && authBytes.length > 0)
      throw new TokenRejected("the broker rejected the access token")
    return Number(sessionLifetimeMs ?? 0)
  } catch (error) {
    if (errorCodeOf(error) !== ERROR.SASL_AUTHENTICATION_FAILED && !(error instanceof TokenRejected))
      throw error
    throw new AuthenticationError("SASL authentication failed", { cause: error as Error })
  }
}

type AuthenticateApi = typeof saslAuthenticateV2

async function exchange(connection: Connection, sasl: Sasl, api: AuthenticateApi["api"]) {
  if (sasl.mechanism === "OAUTHBEARER")
    return saslOAuthBearer.authenticate(api, connection, await sasl.token(), sasl.extensions)
  const { mechanism, username, password } = sasl
  if (mechanism === "PLAIN") return saslPlain.authenticate(api, connection, username, password)
  const algorithm = mechanism === "SCRAM-SHA-256" ? "SHA-256" : "SHA-512"
  return saslScramSha.authenticate(api, connection, algorithm, username, password)
}
