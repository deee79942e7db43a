import { expect, test } from "bun:test"
import { GITHUB_SECRET, GitHubHook } from "../support/github-hook.ts"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"
import { freePort } from "../support/ports.ts"
import { startCommand } from "../support/running-command.ts"

const MINUTES_MS = 60_000

const configuration = (hook: GitHubHook, more = "") => `
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = ${new URL(hook.url).port}
path = /hooks
[pipeline:hooks:Verifier]
provider = github
secret = ${GITHUB_SECRET}
[pipeline:hooks:BrokerSink]
topic = hooks
${hook.section()}
every = 1s
${more}
`

/** A hook whose deliveries are old enough to be compared. */
async function hookAt(): Promise<GitHubHook> {
  const hook = new GitHubHook(`http://127.0.0.1:${await freePort()}/hooks`)
  hook.deliveredAgoMs = 5 * MINUTES_MS
  return hook
}

const send = (hook: GitHubHook, ...guids: string[]) => Promise.all(guids.map((guid) => hook.send(guid)))

const topic = async (folder: string): Promise<string[]> =>
  (await valuesInLog(`${folder}/log`, "hooks"))
    .map((value) => (JSON.parse(value) as { k: string }).k)
    .toSorted()

test("a service has its sender deliver again what it missed while it was down, and publishes a certificate", async () => {
  using folder = temporaryFolder()
  await using hook = await hookAt()
  await send(hook, "missed 1", "missed 2")
  await using service = await startHookline(configuration(hook, "certificate_topic = certificates"), {
    folder: folder.path,
  })
  await send(hook, "came")
  await service.logged(({ msg, events }) => msg === "asked for missing events" && events === 2)
  await service.logged(({ msg, recovered }) => msg === "reconciled" && recovered === 2)
  expect(service.log.some(({ msg }) => msg === "certificate: nothing is missing")).toBe(true)
  const overview = (await (await fetch(`${service.adminUrl}/api/overview`)).json()) as {
    reconciles: { window: object }[]
  }
  expect(overview.reconciles[0]).toMatchObject({
    id: "github",
    problem: null,
    window: { missing: 2, recovered: 2 },
  })
  await service.stop()
  expect(await topic(folder.path)).toEqual(["came", "missed 1", "missed 2"])
  const certificates = await valuesInLog(`${folder.path}/log`, "certificates")
  const hours = certificates.map(
    (value) => JSON.parse(value) as { reconcile: string; from: string; open: number },
  )
  expect(hours.length).toBeGreaterThan(0)
  for (const { reconcile, from, open } of hours)
    expect([reconcile, from, open]).toEqual(["github", expect.stringMatching(/T\d\d:00:00\.000Z$/), 0])
})

test("hookline reconcile --enable enables the endpoint, and asks for nothing", async () => {
  using folder = temporaryFolder()
  await using hook = await hookAt()
  hook.active = false
  await send(hook, "missed")
  await Bun.write(`${folder.path}/pipelines.conf`, configuration(hook))
  const { stdout } = await hookline([
    "reconcile",
    "github",
    "--enable",
    "-c",
    `${folder.path}/pipelines.conf`,
  ])
  expect(stdout).toBe("GitHub: the endpoint is enabled\n")
  expect(hook.active).toBe(true)
  expect(hook.requests.filter((it) => it.startsWith("POST"))).toEqual([])
})

test("hookline reconcile ends at Ctrl-C while it awaits what it has asked for", async () => {
  using folder = temporaryFolder()
  await using hook = await hookAt()
  await send(hook, "missed")
  await Bun.write(`${folder.path}/pipelines.conf`, configuration(hook))
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  hook.before = ({ method }) => void (method === "POST" && resolve())
  await using command = startCommand(["reconcile", "github"], folder.path)
  await asked
  command.signal("SIGINT")
  expect([await command.exited, command.output()]).toEqual([130, ""])
})

test("hookline reconcile --dry-run lists and compares, and asks for nothing", async () => {
  using folder = temporaryFolder()
  await using hook = await hookAt()
  await send(hook, "missed")
  await Bun.write(`${folder.path}/pipelines.conf`, configuration(hook))
  const { stdout, status } = await hookline([
    "reconcile",
    "github",
    "--dry-run",
    "-c",
    `${folder.path}/pipelines.conf`,
  ])
  expect(stdout).toMatch(
    /^GitHub lists 1 events from \S+ to \S+: none has ended here\n1 were missing: 1 open\n$/,
  )
  expect(status).toBe(1)
  expect(hook.requests.filter((it) => it.startsWith("POST"))).toEqual([])
})
