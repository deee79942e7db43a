import type { SettingKey } from "../../verify/schemes/family.ts"
import { findFamily, presetOf, PROVIDER_NAMES } from "../../verify/presets/providers.ts"
import type { ProviderSetup } from "./shapes.ts"

/** All providers and generic kinds, and how a pipeline receives their events. */
export const setups = (): ProviderSetup[] =>
  PROVIDER_NAMES.map((provider) => {
    const preset = presetOf(provider)
    return {
      provider,
      title: preset !== undefined && "title" in preset ? preset.title : `${provider} (any sender)`,
      docs: preset?.docs ?? null,
      note: preset?.note ?? null,
      configuration: configurationOf(provider),
    }
  })

function configurationOf(provider: string): string {
  const family = findFamily(provider)!
  const settings = (family.requires[0] ?? []).map((key) => `${key} = ${valueOf(provider, key)}`)
  return `[pipeline:${provider}:WebHookSource]
path = /${provider}
${family.signsUrl === true ? "public_url = https://hooks.example.com\n" : ""}
[pipeline:${provider}:Verifier]
provider = ${provider}
${settings.map((line) => `${line}\n`).join("")}
[pipeline:${provider}:BrokerSink]
topic = ${provider}
`
}

/** A value as it would stand in a file: secrets come from the environment. */
function valueOf(provider: string, key: SettingKey): string {
  return VALUES[key] ?? `\${${`${provider}_${key}`.replaceAll("-", "_").toUpperCase()}}`
}

const VALUES: { readonly [key in SettingKey]?: string } = {
  header: "X-Signature",
  query: "token",
  username: "hookline",
  jwks_url: "https://issuer.example.com/.well-known/jwks.json",
  issuer: "https://issuer.example.com",
  audience: "https://hooks.example.com",
  email: "push@project.iam.gserviceaccount.com",
  topic_arn: "arn:aws:sns:us-east-1:123456789012:events",
}
