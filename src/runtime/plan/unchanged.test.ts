import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { atOnce } from "../../clock/slices.ts"
import { defineComponent, type Component } from "../../components/define-component.ts"
import { components, registryWith } from "../../components/registry.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { makePlan, type Plan } from "./plan.ts"

const pipeline = (id: string, more = ""): string =>
  `[pipeline:${id}:WebHookSource]\npath = /${id}\nhost = 127.0.0.1\n[pipeline:${id}:BrokerSink]\ntopic = ${id}\n${more}`
const HEAD = "[connection:kafka]\nbootstrap_servers = k:9092\n"

function planOf(text: string, before?: Plan, env = {}, registry = components): Plan {
  const bytes = new TextEncoder().encode(text)
  const configuration = atOnce(readConfigurationFile(bytes, "p.conf", { env, baseDir: "/etc/hookline" }))
  return atOnce(makePlan({ configuration, registry, cwd: "/srv" }, before))
}

/** The ids of those that a second plan has read again. */
function readAgain(first: string, second: string, env = {}): string[] {
  const before = planOf(first)
  const after = planOf(second, before, env)
  return after.pipelines.filter((it) => !before.pipelines.includes(it)).map(({ id }) => id)
}

const ab = HEAD + pipeline("a") + pipeline("b")

test.each([
  ["nothing has changed", ab, ab, []],
  ["one was added above", ab, HEAD + pipeline("c") + pipeline("a") + pipeline("b"), ["c"]],
  ["one has another option", ab, ab.replace("topic = b", "topic = other"), ["b"]],
  ["one has one more section", ab, `${ab}[pipeline:a:Validator]\non_invalid = drop\n`, ["a"]],
  ["one lacks a key", ab.replace("topic = a\n", "topic = a\nkey = path\n"), ab, ["a"]],
  ["a connection has changed", ab, ab.replace("k:9092", "l:9092"), ["a", "b"]],
  ["[service] has changed", ab, `${ab}[service]\nmax_in_flight_bytes = 64MiB\n`, ["a", "b"]],
  ["[defaults:…] has changed", ab, `${ab}[defaults:WebHookSource]\nport = 1\n`, ["a", "b"]],
])("where %s, a plan has read the others before", (_what, first, second, read) => {
  expect(readAgain(first, second)).toEqual(read)
  expect(planOf(second, planOf(first)).pipelines).toEqual(planOf(second).pipelines)
})

test("custom processors whose sections change places change places", () => {
  const own = ["First", "Second"].map((name) =>
    defineComponent({ kind: "processor", name, summary: "", options: {}, create: () => (event) => event }),
  )
  const registry = registryWith(own as unknown as readonly Component[])
  const [first, second] = [
    "[pipeline:a:First]\n[pipeline:a:Second]\n",
    "[pipeline:a:Second]\n[pipeline:a:First]\n",
  ]
  const before = planOf(HEAD + pipeline("a", first), undefined, {}, registry)
  const after = planOf(HEAD + pipeline("a", second), before, {}, registry)
  const titles = after.pipelines[0]!.processors.map((it) => ("component" in it ? it.component.title : ""))
  expect(titles).toEqual(["Validator", "Second", "First", "Enricher"])
})

test("a text with a variable that has another value is read again", () => {
  const text = ab.replace("topic = b", "topic = ${T:-b}")
  expect(readAgain(text, text)).toEqual([])
  expect(readAgain(text, text, { T: "c" })).toEqual(["b"])
})

test("a pipeline whose options name a file is read again, since the file may have changed", () => {
  using folder = temporaryFolder()
  const schema = join(folder.path, "schema.json")
  writeFileSync(schema, "{}")
  const text = `${ab}[pipeline:b:Validator]\nschema = ${schema}\n`
  expect(readAgain(text, text)).toEqual(["b"])
})

test("a conflict with a pipeline that has not changed is reported with the line of both", () => {
  const conflict = `${HEAD}\n\n${pipeline("a")}${pipeline("b").replace("/b", "/a")}`
  expect(() => planOf(conflict, planOf(ab))).toThrow(
    'p.conf:11: [pipeline:b:WebHookSource] path: port and path are those of pipeline "a" (p.conf:6)',
  )
})
