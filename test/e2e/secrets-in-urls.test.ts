import { describe, expect, test } from "bun:test"
import { AdminApi } from "../support/admin-api.ts"
import { hookline, sharedByTests } from "../support/hookline.ts"
import type { CaptureDetail } from "../../src/admin/api/capture-shapes.ts"

const SEGMENT = "s3cret-segment"
const SECRETS = ["s3cret-password", "s3cret-query", "s3cret-bare", SEGMENT]
const CONFIGURATION = `[service]
log_format = json
[connection:log]
directory = data
[admin]
listen = 127.0.0.1:0
[pipeline:signed:WebHookSource]
path = /signed
host = 127.0.0.1
port = 0
public_url = https://user:s3cret-password@hooks.example.com/signed?k=s3cret-query&s3cret-bare
[pipeline:signed:Verifier]
provider = square
secret = example-not-a-secret
[pipeline:signed:BrokerSink]
topic = signed
[pipeline:hidden:WebHookSource]
path = /in/\${SEGMENT}
host = 127.0.0.1
port = 0
[pipeline:hidden:Verifier]
provider = github
secret = example-not-a-secret
[pipeline:hidden:BrokerSink]
topic = hidden
`

const expectNone = (what: string, text: string): void => {
  for (const secret of SECRETS) expect([what, text.includes(secret)]).toEqual([what, false])
}

const api = sharedByTests(() => AdminApi.start(CONFIGURATION, { SEGMENT }))
/** A pipeline's URL as senders know it: the log does not have its path. */
const urlOf = (pipeline: "signed" | "hidden"): string =>
  api.running.urls[pipeline]!.replace("/in/…", `/in/${SEGMENT}`)

describe("a password or query of public_url, and a substituted segment of a path, are printed nowhere", () => {
  test("by an unsigned request: log, captured requests, explanation, page, metrics and commands", async () => {
    expect(api.running.urls["hidden"]).toEndWith("/in/…")
    const requests: [string, RequestInit][] = [
      [urlOf("signed"), { headers: { "x-square-hmacsha256-signature": "AAAA" } }],
      [urlOf("signed"), { headers: { "x-square-hmacsha256-signature": `${"A".repeat(43)}=` } }],
      [urlOf("hidden"), { headers: { "X-Hub-Signature-256": `sha256=${"0".repeat(64)}` } }],
      [`${urlOf("hidden")}/`, {}],
      [urlOf("hidden"), { method: "PUT" }],
    ]
    for (const [url, init] of requests) {
      const answer = await fetch(url, { method: "POST", body: "{}", ...init })
      expect(answer.status).toBeOneOf([401, 404, 405])
      expectNone("answer", await answer.text())
    }
    const captures = await api.get<{ id: string }[]>("captures")
    expect(captures.length).toBeGreaterThan(2)
    expectNone("captures", JSON.stringify(captures))
    for (const { id } of captures) {
      const { body_base64: body, ...detail } = await api.get<CaptureDetail>(`captures/${id}`)
      expectNone("capture", JSON.stringify(detail) + Buffer.from(body ?? "", "base64").toString())
      expectNone("explanation", JSON.stringify(await api.get(`captures/${id}/explanation`)))
    }
    for (const path of [
      "overview",
      "reasons",
      "pipelines/hidden",
      "pipelines/signed",
      "samples/hidden",
      "samples/signed",
    ])
      expectNone(path, await (await api.fetch(path)).text())
    expectNone("metrics", await (await fetch(`${api.running.adminUrl}/metrics`)).text())
    const options = { cwd: api.folder, env: { SEGMENT } }
    for (const args of [["check"], ["check", "--json"]])
      expectNone(args.join(" "), JSON.stringify(await hookline([...args, "-c", "pipelines.conf"], options)))
    expectNone("log", api.running.output())
  })

  test("but who may see secrets sees them", async () => {
    expect((await fetch(urlOf("hidden"), { method: "POST", body: "{}" })).status).toBe(401)
    const [first] = await api.get<{ id: string }[]>("captures?pipeline=hidden")
    const detail = await api.get<CaptureDetail>(`captures/${first!.id}?unmasked=true`, {
      headers: { Origin: new URL(api.running.adminUrl!).origin },
    })
    expect(detail.url).toContain(SEGMENT)
  })
})
