import { message, named, setting } from "../../../message.ts"
import { custom, file, list, oneOf, text, WrongValue } from "../../../config/options/option-types.ts"
import { type Checking, only } from "../../../config/declarations.ts"

const PASSWORD = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] as const

/** How the client of a Kafka connection authenticates. */
export const SASL = only(
  { security_protocol: ["sasl_ssl", "sasl_plaintext"] },
  {
    sasl_mechanism: oneOf([...PASSWORD, "OAUTHBEARER", "AWS_MSK_IAM"], {
      optional: true,
      requiredThen: true,
      doc: "How the client authenticates.",
    }),
    ...only(
      { sasl_mechanism: PASSWORD },
      {
        sasl_username: text({ optional: true, requiredThen: true, doc: "The user." }),
        sasl_password: text({
          optional: true,
          requiredThen: true,
          secret: true,
          doc: "The user's password.",
        }),
      },
    ),
    ...only(
      { sasl_mechanism: ["OAUTHBEARER"] },
      {
        sasl_oauth_token_endpoint: text({
          optional: true,
          requiredThen: true,
          accepts: (url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol),
          form: "an http or https URL",
          doc: "URL that issues access tokens for client credentials (RFC 6749, section 4.4).",
        }),
        sasl_oauth_client_id: text({ optional: true, requiredThen: true, doc: "The client's id there." }),
        sasl_oauth_client_secret: text({
          optional: true,
          secret: true,
          doc: "The client's secret; this or `sasl_oauth_assertion_key` is required.",
        }),
        sasl_oauth_assertion_key: file({
          optional: true,
          excludes: "sasl_oauth_client_secret",
          doc: "PEM file (PKCS #8) with the private key that signs an assertion in place of the client secret (RFC 7523): RS256, ES256, ES384, ES512 or EdDSA, by the key.",
        }),
        sasl_oauth_assertion_key_id: text({
          optional: true,
          needs: "sasl_oauth_assertion_key",
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
      },
    ),
    ...only(
      { sasl_mechanism: ["AWS_MSK_IAM"] },
      {
        sasl_aws_region: text({
          optional: true,
          pattern: /^[a-z0-9-]+$/,
          form: "an AWS region",
          doc: "Region of the cluster. By default that of the bootstrap servers' names, else `AWS_REGION`.",
        }),
      },
    ),
  },
)

/** `name=value`; names are letters, values printable ASCII. */
function extension() {
  const form = "name=value, a name of letters other than auth"
  return custom<readonly [name: string, value: string], { doc: string }, string>(
    form,
    { doc: "" },
    read,
    read,
  )
  function read(text: string): readonly [name: string, value: string] {
    const [, name, value] = /^([A-Za-z]+)\s*=\s*([\x20-\x7e]+)$/.exec(text) ?? []
    if (name === undefined || value === undefined || name === "auth")
      throw new WrongValue(`${JSON.stringify(text)} is not ${form}`)
    return [name, value]
  }
}

/** What OAUTHBEARER requires besides: a proof of the client, and TLS for what is secret. */
export function checkOauth({ values, isGiven, wrong, warn }: Checking<typeof SASL>): void {
  if (values.sasl_mechanism !== "OAUTHBEARER") return
  const [secret, key] = ["sasl_oauth_client_secret", "sasl_oauth_assertion_key"] as const
  if (!isGiven(secret) && !isGiven(key))
    wrong(
      secret,
      message`is required by ${setting("sasl_mechanism", "OAUTHBEARER")}; or ${named(key)} is`,
      "missing_key",
    )
  const endpoint = values.sasl_oauth_token_endpoint
  if (endpoint === undefined) return
  const { protocol, hostname } = new URL(endpoint)
  if (protocol === "https:") return
  if (isGiven("sasl_oauth_ca_location"))
    wrong("sasl_oauth_ca_location", "has no effect with an http URL", "conflicting_keys")
  if (!/^(localhost|127\..*|\[::1\])$/.test(hostname))
    warn("sasl_oauth_token_endpoint", "credentials and tokens are sent unencrypted; use an https URL")
}
