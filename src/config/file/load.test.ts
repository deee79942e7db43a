import { beforeAll, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { HooklineError } from "../../errors.ts"
import { atOnce } from "../../clock/slices.ts"
import { loadConfiguration } from "./load.ts"
import type { ConfigurationFile } from "./configuration-file.ts"
import { folderOfTests } from "../../../test/support/hookline.ts"

const load = (
  file: string | undefined,
  around: Omit<Parameters<typeof loadConfiguration>[1], "kinds">,
): ConfigurationFile => atOnce(loadConfiguration(file, { ...around, kinds: [] }))

const folder = folderOfTests()
let empty: string

beforeAll(() => {
  empty = join(folder.path, "empty")
  mkdirSync(empty)
  writeFileSync(join(folder.path, "pipelines.conf"), "[connection:default]\n")
  writeFileSync(join(folder.path, "other.conf"), "[connection:other]\nx = ${file:secret}${VARIABLE}\n")
  writeFileSync(join(folder.path, "secret"), "hunter2\n")
})

test("the named file precedes the variable, and that the default", () => {
  const cwd = folder.path
  expect(load("other.conf", { env: { HOOKLINE_CONFIG: "none.conf" }, cwd }).file).toBe("other.conf")
  expect(load(undefined, { env: { HOOKLINE_CONFIG: "other.conf" }, cwd }).file).toBe("other.conf")
  expect(load(undefined, { env: { HOOKLINE_CONFIG: "" }, cwd }).file).toBe("pipelines.conf")
  expect(load(undefined, { env: {}, cwd }).file).toBe("pipelines.conf")
})

test("paths start from the file's folder and variables come from the given environment", () => {
  const configuration = load(join(folder.path, "other.conf"), { env: { VARIABLE: "!" }, cwd: empty })
  expect(configuration.baseDir).toBe(folder.path)
  expect(configuration.problems).toEqual([])
  expect(configuration.connections.get("other")?.texts.get("x")?.value.text).toBe("hunter2!")
})

test.each<[string, string | undefined, { [name: string]: string }, string]>([
  [
    "the default file",
    undefined,
    {},
    "the configuration file pipelines.conf does not exist; create one with hookline init, or name another with -c FILE or the variable HOOKLINE_CONFIG",
  ],
  ["a named file", "x.conf", {}, "the configuration file x.conf does not exist; check the path given to -c"],
  [
    "the variable's file",
    undefined,
    { HOOKLINE_CONFIG: "x.conf" },
    "the configuration file x.conf does not exist; check the variable HOOKLINE_CONFIG",
  ],
  ["a folder", ".", {}, "the configuration file . is a folder; check the path given to -c"],
])("%s that can't be read is no_input, with a remedy", (_, file, env, message) => {
  const loadIt = (): unknown => load(file, { env, cwd: empty })
  expect(loadIt).toThrow(HooklineError)
  expect(loadIt).toThrow(expect.objectContaining({ code: "no_input", message }))
})
