import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { folderOfTests, temporaryFolder } from "../../test/support/hookline.ts"
import { HooklineError, namesOf, OptionError, type StartError } from "../errors.ts"
import { logIn } from "../storage/database-file.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import { Application } from "./application.ts"

const folder = folderOfTests()
const LOG = "[connection:log]\ndirectory = log\n"
const SOURCE = "[pipeline:p:WebHookSource]\nport = 0\n"
const SINK = "[pipeline:p:BrokerSink]\ntopic = t\n"
const OFF = "[admin]\nlisten = off\n"
const ALL = LOG + SOURCE + SINK + OFF

/** The names that a start with a file ends with. */
async function namesFor(text: string): Promise<readonly StartError[] | undefined> {
  using place = temporaryFolder()
  const file = join(place.path, "pipelines.conf")
  writeFileSync(file, text)
  const { error, problems } = await Application.fromFile(file).diagnose({ alone: true })
  // one for each line, as a reload logs them
  expect(error && namesOf(error)).toHaveLength(problems.lines.length)
  return error && namesOf(error)
}

test.each<[StartError, string]>([
  ["invalid_line", `${ALL}no separator\n`],
  ["unknown_section", `${ALL}[pipelines:p]\n`],
  ["unknown_section", `${ALL}[pipeline:p:Nonsense]\n`],
  ["unknown_key", `${ALL}lisen = off\n`],
  ["duplicate_section", `${ALL}[admin]\n`],
  ["duplicate_section", `${ALL}[pipeline:p:KafkaSink]\ntopic = t\n`],
  ["duplicate_key", `${ALL}listen = off\n`],
  ["missing_key", LOG + SOURCE + OFF + SINK.replace("topic = t", "")],
  ["missing_key", `${ALL}[pipeline:p:Verifier]\nprovider = stripe\n`],
  ["missing_key", `${ALL}[pipeline:p:Filter]\nwhen = json:/a\n`],
  ["conflicting_keys", `${ALL}tls_certificate = a.pem\n`],
  [
    "conflicting_keys",
    `${ALL}[pipeline:p:Verifier]\nprovider = stripe\nsecret = s\njwks_url = https://a.example/\n`,
  ],
  ["invalid_value", `${ALL}[service]\ndrain_timeout = many\n`],
  ["invalid_value", `${ALL}[pipeline:p:Validator]\nschema = pipelines.conf\n`],
  ["unset_variable", `${ALL}token = \${HOOKLINE_TEST_UNSET}\n`],
  ["invalid_configuration", LOG + SINK + OFF],
  ["file_unreadable", `${ALL}token = \${file:none}\n`],
  ["file_unreadable", `${ALL}[pipeline:p:Validator]\nschema = none.json\n`],
  ["file_unreadable", `include = none.conf\n${ALL}`],
  ["address_not_local", `${LOG}${SOURCE.replace("port = 0", "port = 9\nhost = 203.0.113.7")}${SINK}${OFF}`],
])("%s: a problem of the file", async (name, text) => {
  expect(await namesFor(text)).toEqual([name])
})

test("several problems have a name each, in the order of their lines", async () => {
  expect(await namesFor(`${ALL}wat = 1\nlisten = off\n[service]\ndrain_timeout = many\n`)).toEqual([
    "unknown_key",
    "duplicate_key",
    "invalid_value",
  ])
})

test("what a sink names is checked also where its connection is unknown, or its source has problems", async () => {
  const registry =
    "value_format = json-schema\nregistry_url = https://127.0.0.1:1\nregistry_ca_location = none.pem\n"
  expect(await namesFor(`${LOG}${SOURCE}${SINK}connection = nowhere\n${registry}${OFF}`)).toEqual([
    "invalid_value",
    "file_unreadable",
  ])
  expect(await namesFor(`${LOG}${SOURCE}wat = 1\n${SINK}${registry}${OFF}`)).toEqual([
    "unknown_key",
    "file_unreadable",
  ])
})

test("no_configuration: the file does not exist", () => {
  expect(() => Application.fromFile(join(folder.path, "none.conf"))).toThrow(
    expect.objectContaining({ code: "no_input", names: ["no_configuration"] }),
  )
})

test("port_in_use: another program listens", async () => {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { port: number }
  const text = ALL.replace("port = 0", `port = ${port}\nhost = 127.0.0.1`)
  expect(await namesFor(text)).toEqual(["port_in_use"])
  await new Promise((resolve) => void server.close(resolve))
})

test("log_locked: another process writes to the log", async () => {
  const directory = folder.make("locked")
  const lock = new Database(join(directory, "writer.lock"), { create: true })
  lock.run("BEGIN EXCLUSIVE")
  expect(await namesFor(ALL.replace("= log", `= ${directory}`))).toEqual(["log_locked"])
  lock.close()
})

test("log_not_opened: a file of another kind is in the place of the log", async () => {
  const directory = folder.make("other")
  mkdirSync(join(directory, "log.sqlite"))
  expect(await namesFor(ALL.replace("= log", `= ${directory}`))).toEqual(["log_not_opened"])
})

test.each<[StartError, HooklineError]>([
  ["no_permission", failed("config", "EACCES")],
  ["no_permission", failed("log_io", "EROFS")],
  ["port_not_permitted", failed("listen", "EACCES")],
  ["not_listening", failed("listen", "EAFNOSUPPORT")],
  ["log_not_opened", failed("log_io", "ENOSPC")],
])("%s: by the system's error, which may be that of a cause", (name, error) => {
  expect([error, new OptionError(error.code, "key", "text", { cause: error })].map(namesOf)).toEqual([
    [name],
    [name],
  ])
})

test("an error of a command that no start has is none", () => {
  expect([failed("usage", "ENOENT"), failed("no_topic", "EACCES")].map(namesOf)).toEqual([[], []])
})

function failed(code: HooklineError["code"], system: string): HooklineError {
  return new HooklineError(code, "text", { cause: Object.assign(new Error("text"), { code: system }) })
}

test("a log that the failed start has not closed yet is no problem of its own", async () => {
  using place = temporaryFolder()
  const file = join(place.path, "pipelines.conf")
  writeFileSync(file, `${ALL}[pipeline:p:Validator]\nschema = none.json\n`)
  const application = Application.fromFile(file)
  let unlock: (() => void) | undefined
  const failing = application.startBy(() => {
    unlock = lockForWriting(logIn(join(place.path, "log")))
    throw new HooklineError("config", "none.json does not exist")
  })
  const error = await failing.then(
    () => undefined,
    (it: HooklineError) => it,
  )
  expect(error && namesOf(error)).toEqual(["file_unreadable"])
  // another application's in this process is one
  const { error: beside } = await Application.fromFile(file).diagnose({ alone: true })
  expect(beside?.message).toContain(`is being written to by process ${process.pid}`)
  unlock?.()
})
