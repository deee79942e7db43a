import type { SASLOptions } from "@platformatic/kafka"
import type { KafkaOptions } from "../options.ts"
import type { System } from "../system.ts"
import { AccessTokens, TokenRejected } from "./access-tokens.ts"
import type { CredentialTelemetry } from "./credential-telemetry.ts"
import { mskIam } from "./msk-iam.ts"
import { tokenEndpoint } from "./token-endpoint.ts"

export interface Authentication {
  readonly sasl?: SASLOptions
  /** Set for a mechanism that shows the brokers an access token. */
  readonly tokens?: AccessTokens
}

/** How connections authenticate; empty: they don't. @throws OptionError `config` */
export function authentication(
  options: KafkaOptions,
  system: System,
  telemetry: CredentialTelemetry | undefined,
): Authentication {
  const { security_protocol: protocol, sasl_mechanism: mechanism } = options
  if (mechanism === undefined || !protocol.startsWith("sasl_")) return {}
  if (mechanism !== "OAUTHBEARER" && mechanism !== "AWS_MSK_IAM") {
    const { sasl_username: username = "", sasl_password: password = "" } = options
    return { sasl: { mechanism, username, password } }
  }
  const issuer = mechanism === "AWS_MSK_IAM" ? mskIam(options) : tokenEndpoint(options)
  const tokens = new AccessTokens(issuer, system, telemetry)
  const extensions = options.sasl_oauth_extensions
  const sasl: SASLOptions = {
    // MSK takes IAM's tokens by this mechanism too, which is how clients other than Java's authenticate
    mechanism: "OAUTHBEARER",
    token: async () => (await tokens.get()).value,
    authBytesValidator,
    ...(extensions !== undefined && { oauthBearerExtensions: Object.fromEntries(extensions) }),
  }
  return { sasl, tokens }
}

/** A broker that rejects the token says why in an answer that is otherwise a success: RFC 7628, section 3.2.2. */
const authBytesValidator: NonNullable<SASLOptions["authBytesValidator"]> = (bytes, done) => {
  if (bytes.length === 0) done(null, bytes)
  else done(new TokenRejected("the broker rejected the access token"))
}
