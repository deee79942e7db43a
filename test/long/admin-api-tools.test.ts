import { beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { AdminApi } from "../support/admin-api.ts"
import { runToEnd } from "../support/child.ts"
import { sharedByTests, folderOfTests } from "../support/hookline.ts"
import { PythonPackages } from "../support/python-packages.ts"
import { hasTestPackages } from "../support/tools.ts"

// What other people's tools find in the admin API's description, and in its answers to what they make of it.

const schemathesis = new PythonPackages("schemathesis==4.32.5")
const folder = folderOfTests()
const it = sharedByTests(() =>
  AdminApi.start(`
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
[pipeline:payments:Verifier]
provider = stripe
secret = not-a-real-secret-000
[pipeline:payments:BrokerSink]
topic = payments
[admin]
listen = 127.0.0.1:0
capture = all
`),
)
let operations: { readonly all: number; readonly live: number }
beforeAll(async () => {
  const document = await it.get<{ paths: { [path: string]: object } }>("openapi.json")
  await Bun.write(join(folder.path, "openapi.json"), JSON.stringify(document, null, 2))
  const count = (paths: [string, object][]): number => paths.flatMap(([, it]) => Object.keys(it)).length
  const paths = Object.entries(document.paths)
  operations = { all: count(paths), live: count(paths.filter(([path]) => path.endsWith("/live"))) }
})

test.skipIf(!hasTestPackages())("redocly has no error and no warning", async () => {
  const redocly = join(import.meta.dir, "../node_modules/.bin/redocly")
  const { status, stdout, stderr } = await runToEnd([redocly, "lint", "openapi.json", "--format", "json"], {
    cwd: folder.path,
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  })
  const { problems } = JSON.parse(stdout) as { problems: unknown[] }
  expect([status, problems], stderr).toEqual([0, []])
})

test.skipIf(!(await schemathesis.areHere()))(
  "schemathesis finds no answer that is not as described",
  async () => {
    const command = [
      join(schemathesis.bin, "schemathesis"),
      "run",
      join(folder.path, "openapi.json"),
      `--url=${it.running.adminUrl}`,
      "--phases=coverage,fuzzing",
      "--max-examples=10",
      "--generation-deterministic",
      // answers of theirs never end
      "--exclude-path-regex=/live$",
      // that a URL is one, and the form of a filter, are said by 400, and by no schema
      "--exclude-checks=positive_data_acceptance",
      "--no-color",
    ]
    const { status, stdout } = await runToEnd(command, { cwd: folder.path, env: schemathesis.env })
    const { all, live } = operations
    expect(stdout).toContain(`${all - live} selected / ${all} total`)
    expect(status, stdout).toBe(0)
  },
)
