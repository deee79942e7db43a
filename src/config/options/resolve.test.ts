import { describe, expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { duration, integer, list, oneOf, path, text } from "./option-types.ts"
import { Problems } from "../file/problems.ts"
import { resolveSection, type OptionsFromCode } from "./resolve.ts"
import { defineSection } from "./section.ts"
import { readConfigurationFile } from "../file/configuration-file.ts"

const SECTION = defineSection({
  title: "service",
  aliases: [],
  summary: "",
  options: {
    topic: text({ pattern: /^[a-z]+$/, form: "a topic name", doc: "" }),
    port: integer({ min: 0, max: 65_535, default: "8080", doc: "" }),
    body: text({ default: "", doc: "" }),
    mode: oneOf(["reject", "drop"], { optional: true, doc: "" }),
    timeout: duration({ maxMs: 10_000, default: "5s", doc: "" }),
    token: text({
      optional: true,
      secret: true,
      pattern: /^[a-z0-9]+$/,
      form: "letters and digits",
      doc: "",
    }),
    tokens: list(text({ pattern: /^[a-z]+$/, form: "letters", doc: "" }), {
      optional: true,
      secret: true,
      doc: "",
    }),
    file: path({ default: "data", doc: "" }),
  },
  check({ values, isGiven, wrong }) {
    if (isGiven("mode") && values.port === 0) wrong("mode", "wants a port")
  },
})

function resolve(
  file: string | undefined,
  inCode?: OptionsFromCode,
): { values: object; problems: readonly string[] } {
  const configuration =
    file === undefined
      ? undefined
      : atOnce(
          readConfigurationFile(new TextEncoder().encode(file), "p.conf", {
            env: { WORD: "hunter2!" },
            baseDir: "/etc/hookline",
          }),
        )
  const problems = new Problems(configuration?.file, configuration)
  const found = {
    address: "service",
    section: configuration?.service,
    inCode,
    baseDir: configuration?.baseDir ?? "/srv",
  }
  return { values: resolveSection(SECTION, found, problems).values, problems: problems.lines }
}

const DEFAULTS = { port: 8080, body: "", timeout: 5000, file: "/etc/hookline/data" }

test("code precedes the file, and the file the defaults", () => {
  const file = "[service]\ntopic = file\nport = 1\ntimeout = 1s\nBODY = b"
  expect(resolve(file, { topic: "code", timeout: 2000, port: undefined })).toEqual({
    values: { ...DEFAULTS, topic: "code", port: 1, timeout: 2000, body: "b" },
    problems: [],
  })
  expect(resolve("[service]\ntopic = file")).toEqual({ values: { ...DEFAULTS, topic: "file" }, problems: [] })
  expect(resolve(undefined, { topic: "code" })).toEqual({
    values: { ...DEFAULTS, topic: "code", file: "/srv/data" },
    problems: [],
  })
})

test("an empty value is accepted if the default is empty", () => {
  expect(resolve("[service]\ntopic = t\nbody =")).toEqual({
    values: { ...DEFAULTS, topic: "t" },
    problems: [],
  })
})

describe("problems in the file", () => {
  test.each<[name: string, keys: string, problems: string[]]>([
    ["a missing key", "", ["p.conf:1: [service] topic: is missing; add topic = <a topic name>"]],
    ["a wrong value", "topic = A", ['p.conf:2: [service] topic: "A" is not a topic name']],
    [
      "each of several",
      "topic = t\nport = 70000\ntimeout = 1h\nMode = on",
      [
        'p.conf:3: [service] port: "70000" is not a whole number from 0 to 65535',
        'p.conf:4: [service] timeout: "1h" must be from 0ms to 10s',
        'p.conf:5: [service] Mode: "on" is not reject or drop',
      ],
    ],
    [
      "unknown keys",
      "topic = t\nprot = 1\nretention = 1",
      [
        "p.conf:3: [service] prot: unknown key; did you mean `port`?",
        "p.conf:4: [service] retention: unknown key; expected `topic`, `port`, `body`, `mode`, `timeout`, `token`, `tokens` or `file`",
      ],
    ],
    [
      "an empty value of a required key",
      "topic =",
      ["p.conf:2: [service] topic: is empty; expected a topic name"],
    ],
    [
      "an empty value of another key",
      "topic = t\nport =",
      ["p.conf:3: [service] port: is empty; expected a whole number from 0 to 65535, or remove the key"],
    ],
    [
      "a value that swallowed an indented key",
      "port = 1\n  topic = t",
      [
        "p.conf:1: [service] topic: is missing; add topic = <a topic name>",
        String.raw`p.conf:2: [service] port: "1\ntopic = t" is not a whole number from 0 to 65535 (indented lines continue a value)`,
      ],
    ],
    [
      "a value that could not be had, once",
      "topic = ${NONE}",
      [
        "p.conf:2: [service] topic: environment variable NONE is not set; set it, or give a default: ${NONE:-default}",
      ],
    ],
    ["a rule between keys", "topic = t\nport = 0\nmode = drop", ["p.conf:4: [service] mode: wants a port"]],
  ])("%s", (_, keys, problems) => {
    expect(resolve(`[service]\n${keys}`).problems).toEqual(problems)
  })
})

describe("secrets and substituted values are never printed", () => {
  test.each<[name: string, keys: string, problem: string]>([
    ["a secret", "token = hunter2!", "p.conf:3: [service] token: its value is not letters and digits"],
    ["a secret in a list", "tokens = ok, hunter2!", "p.conf:3: [service] tokens: its value is not letters"],
    [
      "a value that was put in",
      "port = ${WORD}",
      "p.conf:3: [service] port: its value is not a whole number from 0 to 65535",
    ],
    [
      "a value that was put in, in a part",
      "mode = x${WORD}",
      "p.conf:3: [service] mode: its value is not reject or drop",
    ],
    [
      "a default of one that is unset",
      "timeout = ${NO:-9h}",
      "p.conf:3: [service] timeout: its value must be from 0ms to 10s",
    ],
  ])("%s", (_, key, problem) => {
    expect(resolve(`[service]\ntopic = t\n${key}`).problems).toEqual([problem])
  })

  test("a secret given in code", () => {
    expect(resolve(undefined, { topic: "t", token: "hunter2!", tokens: ["hunter2!"] }).problems).toEqual([
      "in code: service, option token: is not letters and digits",
      "in code: service, option tokens: is not a list, each item letters",
    ])
  })
})

describe("problems in code", () => {
  test.each<[name: string, inCode: OptionsFromCode, problems: string[]]>([
    ["a missing option", {}, ["in code: service, option topic: is missing; it is a topic name"]],
    ["a wrong value", { topic: "A" }, ['in code: service, option topic: "A" is not a topic name']],
    [
      "a wrong type",
      { topic: "t", timeout: true },
      [
        "in code: service, option timeout: true is not a number of milliseconds, or a duration such as 500ms, 5s, 2m, 24h or 7d",
      ],
    ],
    [
      "an unknown option",
      { topic: "t", prot: 1 },
      ["in code: service, option prot: unknown option; did you mean `port`?"],
    ],
    [
      "a rule between keys",
      { topic: "t", port: 0, mode: "drop" },
      ["in code: service, option mode: wants a port"],
    ],
  ])("%s", (_, given, problems) => {
    expect(resolve(undefined, given).problems).toEqual(problems)
  })

  test("a missing option may be added to the file's section, if there is one", () => {
    expect(resolve("# defaults\n[service]", {}).problems).toEqual([
      "p.conf:2: [service] topic: is missing; add topic = <a topic name>, or give option topic in code",
    ])
  })
})

test("a problem has the name that its check gives it, whatever its words", () => {
  const section = defineSection({
    title: "service",
    aliases: [],
    summary: "",
    options: {
      port: integer({ min: 0, max: 9, optional: true, doc: "" }),
      mode: text({ optional: true, doc: "" }),
    },
    check({ wrong }) {
      wrong("mode", "cannot stand beside port", "conflicting_keys")
      wrong("port", "should be given", "missing_key")
      wrong("port", "conflicts with nothing")
    },
  })
  const problems = new Problems(undefined)
  resolveSection(section, { address: "service", section: undefined, inCode: {}, baseDir: "/" }, problems)
  expect(problems.all.map(({ text: said, error }) => [said, error])).toEqual([
    ["cannot stand beside port", "conflicting_keys"],
    ["should be given", "missing_key"],
    ["conflicts with nothing", "invalid_value"],
  ])
})
