import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import type { CaptureExplanation } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { hookline, sharedByTests } from "../support/hookline.ts"

const SECRET = "not-a-real-secret-000"
const it = sharedByTests(() =>
  AdminApi.start(`
[connection:log]
directory = log
[pipeline:code:WebHookSource]
[pipeline:code:Verifier]
provider = github
secret = ${SECRET}
[pipeline:code:BrokerSink]
topic = code
`),
)

const BODY = '{"action":"opened","who":"a-name-that-is-nowhere-else"}'
const sign = (secret: string, body = BODY): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
const curl = (signature: string, body = BODY): string =>
  `curl -X POST https://hooks.example.com/code -H 'X-Hub-Signature-256: ${signature}' -H 'X-GitHub-Event: issues' -d '${body}'`
const ask = (request: object): Promise<CaptureExplanation> => it.post("verify", request)

test("a pasted request is explained with a pipeline's secret, as by the command, and nothing of it is kept or logged", async () => {
  expect(await ask({ text: curl(sign(SECRET)), pipeline: "code" })).toMatchObject({ is_verified: true })
  const text = curl(sign(SECRET), BODY.replace("opened", "closed"))
  const explained = await ask({ text, pipeline: "code" })
  expect(explained).toMatchObject({ is_verified: false, reason: "no_match", provider: "github" })
  const command = await hookline(["verify", "-", "--pipeline", "code", "--json"], {
    cwd: it.folder,
    stdin: Buffer.from(text),
  })
  const printed = JSON.parse(command.stdout) as { result: string; possible_mistakes: { problem: string }[] }
  expect(printed).toMatchObject({ verified: false, result: explained.result })
  const problems = explained.mistakes.map(({ problem }) => problem)
  expect(printed.possible_mistakes.map(({ problem }) => problem)).toEqual(problems)
  expect(JSON.stringify(explained)).not.toContain(SECRET)
  expect(JSON.stringify(explained)).not.toContain(sign(SECRET, BODY.replace("opened", "closed")))
  expect(it.running.output()).not.toContain("a-name-that-is-nowhere-else")
  expect(await it.get<unknown>("captures")).toEqual([])
})

test("without a pipeline the sender is that of the headers, and the secret what was typed", async () => {
  expect(await ask({ text: curl(sign("another")), secret: "another" })).toMatchObject({ is_verified: true })
  expect(await ask({ text: curl(sign("another")), secret: "wrong" })).toMatchObject({ is_verified: false })
  expect(await it.refused("verify", { text: curl(sign("another")) })).toEqual([400, expect.any(String)])
  const [status, detail] = await it.refused("verify", { text: "A: b\n\n{}" })
  expect([status, detail]).toEqual([400, expect.stringContaining("not those of a known sender")])
})

test("a file that a pasted command names is not read", async () => {
  await Bun.write(join(it.folder, "body"), BODY)
  const text = curl(sign(SECRET)).replace(/-d '.*'$/, `-d @${join(it.folder, "body")}`)
  expect(await it.refused("verify", { text, pipeline: "code" })).toEqual([
    400,
    expect.stringContaining("paste it with the body itself"),
  ])
})
