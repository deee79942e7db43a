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
secret = whsec_ZXhhbXBsZS1ub3QtYS1zZWNyZXQ
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
    ["is 2.5 s for one that is slow at 3 s", { provider: "ms-graph" }, 2500],
    ["is 4.5 s for one that waits as long as the default", { provider: "recurly" }, 4500],
    ["is 4.5 s for one of whose products one waits 5 s", { provider: "meta" }, 4500],
    ["is the connection's for one that waits 20 s", { provider: "pandadoc" }, undefined],
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
    expect(planned({ provider: "ms-graph", log: true, source: "delivery_timeout = 4s" }).warnings).toContain(
      "delivery_timeout: ms-graph waits 3 s; delivery_timeout is 4 s, so that it gives up before the answer; set delivery_timeout = 2500ms",
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

  test.each<[Case, takes: string | undefined, mend?: string]>([
    [{ log: true }, undefined],
    [{ log: true, provider: "linear" }, undefined],
    [{ kafka: "spool = s.sqlite", source: "max_body_bytes = 25MiB" }, undefined],
    [{ log: true, source: "max_body_bytes = 256KiB" }, "256 KiB, by max_body_bytes"],
    [
      { kafka: "spool = s.sqlite" },
      "1 MiB, by the connection's max_request_bytes",
      "set max_body_bytes = 25MiB, and raise max.message.bytes of the topic",
    ],
    [{ log: true, service: "max_in_flight_bytes = 8MiB" }, "8 MiB, by [service] max_in_flight_bytes"],
  ])("%j: what the sender's largest event exceeds is named", (given, takes, mend = "raise it") => {
    expect(planned(given).warnings).toEqual(
      takes === undefined
        ? []
        : [
            `max_body_bytes: github sends up to 25 MiB; this pipeline takes ${takes}: larger events get 413; ${mend}`,
          ],
    )
  })
})

test.each<[string, string]>([
  ["github", "github does not send again after 503: an outage"],
  [
    "sentry",
    "sentry is not known to send again, and ends the subscription after 1000 timeouts in 24 h: an outage",
  ],
  [
    "meta",
    "meta sends again for 36 h (at growing intervals), and unsubscribes the app from messages of Messenger and Instagram after 1 h of failures: a longer outage",
  ],
  [
    "gitlab",
    "gitlab does not send again after 503, and disables a webhook after 4 failures in a row, of any status, for 1 min to 24 h, and after 40 until it is enabled again: an outage",
  ],
  [
    "ms-graph",
    "ms-graph sends again for 4 h, and delays notifications by 10 min when over 10 % of the answers take over 3 s, and drops them when over 15 % take over 10 s: a longer outage",
  ],
  [
    "twilio",
    "twilio does not send again after 503, except with #rc=5&rp=all at the end of the URL there, up to 5 times: an outage",
  ],
  [
    "elevenlabs",
    "elevenlabs does not send again after 503, except with retries enabled for the webhook there, and disables the webhook after 10 failures in a row, if none succeeded for 7 days: an outage",
  ],
  [
    "anthropic",
    "anthropic sends again at least once, and disables the endpoint after about 20 failures: a longer outage",
  ],
  ["okta", "okta sends again at most once: a longer outage"],
  ["telegram", "telegram sends again a reasonable number of times: a longer outage"],
  [
    "slack",
    "slack sends again for 6 min (3 times: at once, after 1 and 5 min), and may turn event subscriptions off when under 5 % of an hour's deliveries succeeded: a longer outage",
  ],
  [
    "shopify",
    "shopify sends again for 4 h (8 times), and deletes a subscription that was made by the Admin API after 8 failures in a row: a longer outage",
  ],
])("%s: what an outage of Kafka loses is said, unless there is a spool", (provider, expected) => {
  const text = `provider: ${expected} of the broker loses events; set spool of connection main`
  // an extension may know another way
  expect(planned({ provider }).warnings.map((it) => it.slice(0, text.length))).toContain(text)
  for (const other of [planned({ provider, kafka: "spool = s.sqlite" }), planned({ provider, log: true })])
    expect(other.warnings.join()).not.toContain("outage")
})

test.each(["airwallex", "trello", "recurly", "openai", "stytch", "calendly", "hmac\nheader = X-Signature"])(
  "%s: one that repeats for a day, or of which nothing is known, brings no warning",
  (provider) => {
    const { warnings } = planned({ provider })
    expect(warnings.filter((it) => it.includes("outage"))).toEqual([])
  },
)

describe("response_status", () => {
  test.each(["mailgun", "monday", "airwallex", "postmark\nheader = X-Token", "meta", "pandadoc"])(
    "%s: a status other than the one that it counts is warned of",
    (provider) => {
      const text = (status: number): string[] =>
        planned({ provider, log: true, source: `response_status = ${status}` }).warnings.filter((it) =>
          it.startsWith("response_status"),
        )
      expect(text(204)).toEqual([
        `response_status: ${provider.split("\n")[0]} counts only 200 as delivered: it takes 204 for a failure; set response_status = 200`,
      ])
      expect(text(200)).toEqual([])
    },
  )

  test("one of a sender that takes any 2xx is not", () => {
    expect(planned({ provider: "stripe", log: true, source: "response_status = 204" }).warnings).toEqual([])
  })
})
