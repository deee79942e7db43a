import { custom, file, list, oneOf, text, WrongValue, type OptionSet } from "../options/option-types.ts"
import type { Checking } from "../options/section.ts"

/** How the client of a Kafka connection authenticates. */
export const SASL = {
  sasl_mechanism: oneOf(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"], {
    optional: true,
    doc: "How the client authenticates. Required with a sasl protocol.",
  }),
  sasl_username: text({ optional: true, doc: "Required with PLAIN and SCRAM." }),
  sasl_password: text({ optional: true, secret: true, doc: "Required with PLAIN and SCRAM." }),
  sasl_oauth_token_endpoint: text({
    optional: true,
    accepts: (url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol),
    form: "an http or https URL",
    doc: "URL that issues access tokens for client credentials (RFC 6749, section 4.4). Required with OAUTHBEARER.",
  }),
  sasl_oauth_client_id: text({ optional: true, doc: "Required with OAUTHBEARER." }),
  sasl_oauth_client_secret: text({
    optional: true,
    secret: true,
    doc: "With OAUTHBEARER this or `sasl_oauth_assertion_key` is required.",
  }),
  sasl_oauth_assertion_key: file({
    optional: true,
    doc: "PEM file (PKCS #8) with the private key that signs an assertion in place of the client secret (RFC 7523): RS256, ES256, ES384, ES512 or EdDSA, by the key.",
  }),
  sasl_oauth_assertion_key_id: text({
    optional: true,
    doc: "`kid` of the assertion, where the token endpoint knows several keys.",
  }),
  sasl_oauth_scope: text({ optional: true, doc: "Scopes to ask for, separated by spaces." }),
  sasl_oauth_extensions: list(extension(), {
    optional: true,
    doc: "SASL extensions for the brokers (RFC 7628), such as `logicalCluster=lkc-1`.",
  }),
  sasl_oauth_ca_location: file({
    optional: true,
    doc: "PEM file with the CAs that the token endpoint's certificate is checked against, instead of the public ones.",
  }),
  sasl_aws_region: text({
    optional: true,
    pattern: /^[a-z0-9-]+$/,
    form: "an AWS region",
    doc: "Region of the cluster, for AWS_MSK_IAM. By default that of the bootstrap servers' names, else `AWS_REGION`.",
  }),
} satisfies OptionSet

/** `name=value`; names are letters, values printable ASCII. */
function extension() {
  const form = "name=value, a name of letters other than auth"
  return custom<readonly [name: string, value: string], { doc: string }, string>(
    form,
    { doc: "" },
    (given) => read(given),
    (given) => read(given),
  )
  function read(given: string): readonly [name: string, value: string] {
    const [, name, value] = /^([A-Za-z]+)\s*=\s*([\x20-\x7e]+)$/.exec(given) ?? []
    if (name === undefined || value === undefined || name === "auth")
      throw new WrongValue(`${JSON.stringify(given)} is not ${form}`)
    return [name, value]
  }
}

/** The keys of each kind of mechanism: those that it requires, and those that it takes. */
const PASSWORD = {
  required: ["sasl_username", "sasl_password"],
  optional: [],
} as const
const OAUTH = {
  required: ["sasl_oauth_token_endpoint", "sasl_oauth_client_id"],
  optional: [
    "sasl_oauth_client_secret",
    "sasl_oauth_assertion_key",
    "sasl_oauth_assertion_key_id",
    "sasl_oauth_scope",
    "sasl_oauth_extensions",
    "sasl_oauth_ca_location",
  ],
} as const
const AWS = { required: [], optional: ["sasl_aws_region"] } as const
const KINDS = {
  PLAIN: PASSWORD,
  "SCRAM-SHA-256": PASSWORD,
  "SCRAM-SHA-512": PASSWORD,
  OAUTHBEARER: OAUTH,
  AWS_MSK_IAM: AWS,
}

type SaslChecking = Pick<Checking<typeof SASL>, "values" | "isGiven" | "wrong" | "warn">

/** @param protocol undefined: it is wrong */
export function checkSasl(checking: SaslChecking, protocol: string | undefined): void {
  if (protocol === undefined) return
  const { values, isGiven, wrong } = checking
  const all = Object.keys(SASL) as (keyof typeof SASL)[]
  if (!protocol.startsWith("sasl_")) {
    for (const key of all) {
      if (isGiven(key))
        wrong(key, `has no effect with security_protocol = ${protocol}; set it to sasl_ssl or sasl_plaintext`)
    }
    return
  }
  if (!isGiven("sasl_mechanism"))
    return wrong("sasl_mechanism", `is required by security_protocol = ${protocol}`)
  const mechanism = values.sasl_mechanism
  if (mechanism === undefined) return
  const { required, optional } = KINDS[mechanism]
  const taken: readonly string[] = ["sasl_mechanism", ...required, ...optional]
  for (const key of required) {
    if (!isGiven(key)) wrong(key, `is required by sasl_mechanism = ${mechanism}`)
  }
  for (const key of all) {
    if (isGiven(key) && !taken.includes(key))
      wrong(key, `has no effect with sasl_mechanism = ${mechanism}; remove it`)
  }
  if (mechanism === "OAUTHBEARER") checkOauth(checking)
}

function checkOauth({ values, isGiven, wrong, warn }: SaslChecking): void {
  const [secret, key] = ["sasl_oauth_client_secret", "sasl_oauth_assertion_key"] as const
  if (isGiven(secret) && isGiven(key)) wrong(key, `has no effect with ${secret}; remove one of them`)
  if (!isGiven(secret) && !isGiven(key))
    wrong(secret, `is required by sasl_mechanism = OAUTHBEARER; or ${key} is`)
  if (isGiven("sasl_oauth_assertion_key_id") && !isGiven(key))
    wrong("sasl_oauth_assertion_key_id", `requires ${key}`)
  const endpoint = values.sasl_oauth_token_endpoint
  if (endpoint === undefined) return
  const { protocol, hostname } = new URL(endpoint)
  if (protocol === "https:") return
  if (isGiven("sasl_oauth_ca_location")) wrong("sasl_oauth_ca_location", "has no effect with an http URL")
  if (!/^(localhost|127\..*|\[::1\])$/.test(hostname))
    warn("sasl_oauth_token_endpoint", "credentials and tokens are sent unencrypted; use an https URL")
}
