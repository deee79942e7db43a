import { idInBody } from "../presets/event-locations.ts"
import { presetOf } from "../presets/presets.ts"
import { findFamily, usualCoverage } from "../presets/providers.ts"
import type { SettingKey } from "../schemes/family.ts"

/**
 * The sections of a pipeline that receives a provider's events, as lines of pipelines.conf.
 *
 * @param settings those of the Verifier, as they stand in the file
 */
export function samplePipeline(
  provider: string,
  settings: readonly (readonly [key: SettingKey, text: string])[],
): string {
  const family = findFamily(provider)!
  const { body, time } = usualCoverage(family)
  // without a signed time, an id that is signed with the body takes each event once
  const once = body === "whole" && !time && idInBody(presetOf(provider)?.event ?? {}) !== undefined
  const urlLine = family.signsUrl === true ? "public_url = https://hooks.example.com\n" : ""
  return `[pipeline:${provider}:WebHookSource]
path = /${provider}
${urlLine}
[pipeline:${provider}:Verifier]
provider = ${provider}
${settings.map(([key, text]) => `${key} = ${text}\n`).join("")}
${once ? `[pipeline:${provider}:Deduplicator]\n\n` : ""}[pipeline:${provider}:BrokerSink]
topic = ${provider}
`
}

/** What stands there for a setting that is no secret until somebody knows it. */
export const SAMPLE_SETTINGS: { readonly [key in SettingKey]?: string } = {
  header: "X-Signature",
  query: "token",
  username: "hookline",
  jwks_url: "https://issuer.example.com/.well-known/jwks.json",
  issuer: "https://issuer.example.com",
  audience: "https://hooks.example.com",
  email: "push@project.iam.gserviceaccount.com",
  topic_arn: "arn:aws:sns:us-east-1:123456789012:events",
}
