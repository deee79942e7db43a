import { beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, startHookline, folderOfTests } from "../support/hookline.ts"

// What reads needs the section of its connection, and no secret, file or variable of another.

const folder = folderOfTests()

const LOG = "[connection:log]\ndirectory = data\n"
const PIPELINE =
  "[pipeline:a:WebHookSource]\nport = 0\nhost = 127.0.0.1\n[pipeline:a:BrokerSink]\ntopic = t\nconnection = log\n"
const ADMIN = "[admin]\nlisten = off\n"

const SECRETIVE = `include = teams.d/*.conf
${LOG}${PIPELINE}
[pipeline:a:Verifier]
provider = stripe
secret = \${NOT_SET_ANYWHERE}
[pipeline:a:WebHookSouce]
[defaults:Validator]
schema = \${file:none.json}
[connection:other]
bootstrap_servers = \${NOT_SET_ANYWHERE}
client_id = \${file:/run/secrets/none}
[connection:spooled]
bootstrap_servers = 127.0.0.1:1
spool = spool/events
[admin]
token = \${file:none}
`

beforeAll(async () => {
  await using running = await startHookline(LOG + PIPELINE + ADMIN, { folder: folder.path })
  const posted = await fetch(running.urls["a"]!, { method: "POST", body: `{"id":1}` })
  expect(posted.status).toBe(200)
  await Bun.write(join(folder.path, "secretive.conf"), SECRETIVE)
})

const ask = (...args: string[]): ReturnType<typeof hookline> =>
  hookline([...args, "-c", "secretive.conf"], { cwd: folder.path })

test("tail and topics read a log whatever other sections need", async () => {
  const tailed = await ask("tail", "t", "--connection", "log")
  expect(tailed).toMatchObject({ status: 0, stdout: expect.stringContaining(`{"id":1,`), stderr: "" })
  const listed = await ask("topics", "--connection", "log")
  expect(listed).toMatchObject({ status: 0, stdout: expect.stringMatching(/\nlog\/t +1 +1 /), stderr: "" })
})

test("spool looks into a spool whatever connections without one need", async () => {
  for (const id of [[], ["spooled"]])
    expect(await ask("spool", "status", ...id)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("0 to be forwarded"),
      stderr: "",
    })
  expect(await ask("spool", "quarantine")).toMatchObject({ status: 0, stdout: "", stderr: "" })
  expect(await ask("spool", "drain")).toMatchObject({ status: 0, stderr: "" })
})

test("the connection's own section is read, and its problems alone are reported", async () => {
  const { status, stderr } = await ask("topics", "--connection", "other")
  expect([status, stderr.trimEnd().split("\n")]).toEqual([
    78,
    [
      expect.stringContaining(
        "secretive.conf:18: [connection:other] bootstrap_servers: environment variable",
      ),
      expect.stringContaining("secretive.conf:19: [connection:other] client_id: the file /run/secrets/none"),
      "(see hookline help unset_variable file_unreadable)",
    ],
  ])
})

test("a topic's connection has to be named, unless the pipelines publish it to one alone", async () => {
  expect(await ask("tail", "t")).toMatchObject({ status: 0, stdout: expect.stringContaining(`{"id":1,`) })
  expect(await ask("tail", "u")).toMatchObject({
    status: 64,
    stderr:
      "the file has several connections; name the topic with its own: log/u or other/u or spooled/u\n(see hookline tail --help)\n",
  })
})
