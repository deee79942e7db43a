import { expect, test } from "bun:test"
import type { TopicOverview } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests } from "../support/hookline.ts"
import { DISGUISES } from "../support/disguised-paths.ts"
import { openSocket } from "../support/http-socket.ts"

const SENT = JSON.stringify({ pipeline: "payments", body: "{}", sign: true })
const it = sharedByTests(() =>
  AdminApi.start(`
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
[pipeline:payments:Verifier]
provider = github
secret = obviously-fake-secret-of-the-pipeline
[pipeline:payments:BrokerSink]
topic = payments
[admin]
listen = 127.0.0.1:0
capture = refused
`),
)

/** The status of the answer to a target that is sent as it is; NaN: none. */
async function statusOf(method: "GET" | "POST", target: string): Promise<number> {
  using socket = await openSocket(Number(new URL(it.running.adminUrl!).port))
  const body = method === "GET" ? "" : SENT
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "Connection: close",
    "",
    body,
  ]
  socket.send(Buffer.from(lines.join("\r\n"), "latin1"))
  return Number(/^HTTP\/1\.[01] (\d{3}) /.exec(await socket.ended)?.[1])
}

/** What a proxy that passes `/metrics` and what is below it would let through. */
const BELOW_METRICS = ["/../", "/./../", "/%2e%2e/", "/x/../../", "/..\\", "\\..\\", "/%2E./"]

test("a proxy that passes /metrics alone passes no other path of the admin listener in disguise", async () => {
  for (const dots of BELOW_METRICS) {
    expect([dots, await statusOf("POST", `/metrics${dots}api/send`)]).toEqual([dots, 404])
    for (const path of ["api/overview", "api/captures/last?unmasked=true", "readyz", ""])
      expect([dots, path, await statusOf("GET", `/metrics${dots}${path}`)]).toEqual([dots, path, 404])
  }
  const topics = await it.get<TopicOverview[]>("topics")
  expect(topics.filter(({ records }) => records !== 0)).toEqual([])
})

test.each(["/healthz", "/readyz", "/metrics", "/api/overview", "/api/openapi.json"])(
  "%s is answered in no other spelling",
  async (path) => {
    // without those with a question mark, whose path is the page's
    const disguises = DISGUISES.filter((it) => it.includes("private") && !it.includes("?"))
    expect(disguises.length).toBeGreaterThan(40)
    for (const disguise of disguises) {
      const target = disguise.replaceAll("private", path.slice(1))
      expect([target, [400, 404, 505].includes(await statusOf("GET", target))]).toEqual([target, true])
    }
    expect(await statusOf("GET", path)).toBe(200)
    expect(await statusOf("GET", `http://localhost${path}`)).toBe(200)
  },
)

test("without a token a captured request is shown unmasked to the page of the listener alone", async () => {
  expect(await it.send("payments", { Authorization: "Bearer obviously-fake-token" }, "{}")).toBe(401)
  const { host, origin } = new URL(it.running.adminUrl!)
  const shown = async (headers: { [name: string]: string }): Promise<number> => {
    const response = await it.fetch("captures/last?unmasked=true", { headers })
    expect((await response.text()).includes("obviously-fake-token")).toBe(response.status === 200)
    return response.status
  }
  expect(await shown({})).toBe(403)
  expect(await shown({ "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate" })).toBe(403)
  expect(await shown({ Origin: "http://other.example", Host: host })).toBe(403)
  expect(await shown({ "Sec-Fetch-Site": "same-origin", "X-Forwarded-For": "192.0.2.7" })).toBe(403)
  expect(await shown({ "Sec-Fetch-Site": "same-origin" })).toBe(200)
  expect(await shown({ Origin: origin })).toBe(200)
})
