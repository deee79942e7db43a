import { expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { components } from "../../components/registry.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { planOf, resolveDraft } from "./plan.ts"

/** The provider that a `[reconcile:…]` section of its pipeline is planned with. */
function planned(provider: string, endpoint: string): string | undefined {
  const file = `[connection:main]
directory = log
[pipeline:p:WebHookSource]
[pipeline:p:Verifier]
provider = ${provider}
secret = whsec_ZXhhbXBsZS1ub3QtYS1zZWNyZXQ
[pipeline:p:BrokerSink]
topic = t
[reconcile:r]
pipeline = p
${endpoint}
credentials = obviously-fake
`
  const configuration = atOnce(
    readConfigurationFile(new TextEncoder().encode(file), "f.conf", { env: {}, baseDir: "/" }),
  )
  const resolved = atOnce(resolveDraft({ configuration, registry: components, cwd: "/" }))
  return atOnce(planOf(resolved)).reconciles[0]?.provider
}

const RESEND = "endpoint = 4dd369bc-aa82-4ff3-97de-514ae3000ee0"
test.each([
  ["gitlab", "endpoint = projects/1/hooks/2"],
  ["gitlab-signing-token", "endpoint = projects/1/hooks/2"],
  ["resend", RESEND],
])("%s: a pipeline of it can be reconciled", (provider, endpoint) => {
  expect(planned(provider, endpoint)).toBe(provider)
})

test.each([
  ["resend", "", "endpoint: is missing; add endpoint = <webhook id>, a UUID"],
  ["resend", "endpoint = msg_1", "endpoint: is not <webhook id>, a UUID"],
  ["gitlab-signing-token", RESEND, "endpoint: is not projects/<id>/hooks/<id> or groups/<id>/hooks/<id>"],
  [
    "svix",
    RESEND,
    "pipeline: is of svix, whose API lists no deliveries; it can be reconciled with one of github",
  ],
])("%s with %j: %s", (provider, endpoint, problem) => {
  expect(() => planned(provider, endpoint)).toThrow(problem)
})
