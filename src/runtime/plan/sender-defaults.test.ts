import { describe, expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { components } from "../../components/registry.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { planOf, resolveDraft } from "./plan.ts"

interface Case {
  readonly provider?: string
  readonly kafka?: string
  readonly log?: boolean
  readonly source?: string
  readonly service?: string
}

/** The options of the source, and the warnings of its sender, for a pipeline with a Verifier. */
function planned({ provider = "github", kafka = "", log = false, source = "", service = "" }: Case) {
  const connection = log ? "directory = log" : `bootstrap_servers = 127.0.0.1:9092\n${kafka}`
  const file = `[connection:main]
${connection}
[service]
${service}
[pipeline:p:WebHookSource]
${source}
[pipeline:p:Verifier]
provider = ${provider}
secret = example-not-a-secret
[pipeline:p:BrokerSink]
topic = t
`
  const configuration = atOnce(
    readConfigurationFile(new TextEncoder().encode(file), "f.conf", { env: {}, baseDir: "/" }),
  )
  const resolved = atOnce(resolveDraft({ configuration, registry: components, cwd: "/" }))
  const values = atOnce(planOf(resolved)).pipelines[0]!.source.values as {
    max_body_bytes: number
    delivery_timeout?: number
  }
  const warnings = resolved.problems.warnings.map((it) => it.replace(/^.*?\[pipeline:p:\w+\] /, ""))
  return { ...values, warnings: warnings.filter((it) => !it.includes("signs no time")) }
}

describe("delivery_timeout", () => {
  test.each<[string, Case, number | undefined]>([
    ["is 800 ms for a sender that waits 1 s", { provider: "sentry" }, 800],
    ["is 2.5 s for one that waits 3 s", { provider: "slack" }, 2500],
    ["is the connection's for one that waits longer than its default", {}, undefined],
    [
      "is the connection's where that is given",
      { provider: "sentry", kafka: "delivery_timeout = 2s" },
      undefined,
    ],
    ["is the source's where that is given", { provider: "sentry", source: "delivery_timeout = 9s" }, 9000],
    ["is the connection's for a sender of which nothing is known", { provider: "hmac" }, undefined],
  ])("%s", (_name, given, expected) => {
    const own = given.provider === "hmac" ? { source: "" } : {}
    const it =
      given.provider === "hmac" ? { ...given, provider: "hmac\nheader = X-Signature", ...own } : given
    expect(planned(it).delivery_timeout).toBe(expected!)
  })

  test("a longer one than the sender waits is warned of, wherever it was given", () => {
    expect(planned({ provider: "sentry", source: "delivery_timeout = 5s", log: true }).warnings).toEqual([
      "delivery_timeout: sentry waits 1 s; delivery_timeout is 5 s, so that it gives up before the answer; set delivery_timeout = 800ms",
    ])
    expect(planned({ provider: "slack", kafka: "delivery_timeout = 4s\nspool = s.sqlite" }).warnings).toEqual(
      [
        "delivery_timeout: slack waits 3 s; the connection's delivery_timeout is 4 s, so that it gives up before the answer; set delivery_timeout = 2500ms",
      ],
    )
    expect(planned({ provider: "slack", log: true }).warnings).toEqual([])
  })
})

describe("max_body_bytes", () => {
  const MEBIBYTES = 1024 * 1024
  test.each<[string, Case, number]>([
    ["is the sender's largest body, where the log takes any", { log: true }, 25 * MEBIBYTES],
    ["is not more than Kafka's connection takes", { kafka: "max_request_bytes = 4MiB" }, 4 * MEBIBYTES],
    ["is no less than without a known sender", { kafka: "max_request_bytes = 64KiB" }, MEBIBYTES],
    ["gives way to the memory budget", { log: true, service: "max_in_flight_bytes = 16MiB" }, 16 * MEBIBYTES],
    ["is what was given, though it is less", { log: true, source: "max_body_bytes = 64KiB" }, 65_536],
    ["is 1 MiB for a sender of which nothing is known", { log: true, provider: "onfido" }, MEBIBYTES],
  ])("%s", (_name, given, expected) => {
    expect(planned(given).max_body_bytes).toBe(expected)
  })

  test.each<[Case, string | undefined]>([
    [{ log: true }, undefined],
    [{ log: true, source: "max_body_bytes = 256KiB" }, "256 KiB, by max_body_bytes"],
    [{ kafka: "spool = s.sqlite" }, "1 MB, by the connection's max_request_bytes"],
    [{ log: true, service: "max_in_flight_bytes = 8MiB" }, "8 MiB, by [service] max_in_flight_bytes"],
  ])("%j: what the sender's largest event exceeds is named", (given, takes) => {
    expect(planned(given).warnings).toEqual(
      takes === undefined
        ? []
        : [`max_body_bytes: github sends up to 25 MiB; this pipeline takes ${takes}: larger events get 413`],
    )
  })
})

test.each<[string, string]>([
  ["github", "github does not send again after 503: an outage"],
  [
    "sentry",
    "sentry does not document what it sends again, and ends the subscription after 1000 timeouts in 24 h: an outage",
  ],
  [
    "slack",
    "slack sends again for 6 min (3 times: at once, after 1 and 5 min), and may turn event subscriptions off when under 5 % of an hour's deliveries succeeded: a longer outage",
  ],
  [
    "shopify",
    "shopify sends again for 4 h (8 times), and deletes a subscription that was made by the Admin API after 8 failures in a row: a longer outage",
  ],
])("%s: what an outage of Kafka loses is said, unless there is a spool", (provider, expected) => {
  const text = `provider: ${expected} of the broker loses events; set spool of connection main${provider === "github" ? ", or add [reconcile:github]" : ""}`
  expect(planned({ provider }).warnings).toContain(text)
  for (const other of [planned({ provider, kafka: "spool = s.sqlite" }), planned({ provider, log: true })])
    expect(other.warnings.join()).not.toContain("outage")
})
