import { beforeAll, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { runToEnd, type Ended } from "../support/child.ts"
import { textOf } from "../support/documents.ts"
import { TEST_TIMEOUT } from "../support/hang.ts"
import { startHookline, folderOfTests, reload } from "../support/hookline.ts"

// The recipes of CONTRIBUTING.md, each followed with an example in a copy of the checkout.

const ROOT = join(import.meta.dir, "../..")
const folder = folderOfTests()
const copy = join(folder.path, "hookline")
/** Not of the copy: what the examples don't touch and takes long to copy. */
const LEFT_OUT = ["node_modules", ".git", "hookline-data", "dist"]

/** Replaces a text that a file has once; as the first edit of a new file, `before` is empty. */
type Edit = readonly [file: string, before: string, after: string]

interface Example {
  readonly edits: readonly Edit[]
  /** The tests that the recipe adds or names: arguments of `bun test`, once for each. */
  readonly tests: readonly (readonly string[])[]
}

const CHANGELOG: Edit = [
  "CHANGELOG.md",
  "### Pipeline and answers\n\n",
  "### Pipeline and answers\n\n- An example.\n",
]
const RELOADS = "test/e2e/reload-options.test.ts"

/** test/support/json-lines/kind.ts as it would stand in src/brokers. */
function jsonLines(): string {
  const text = readFileSync(join(ROOT, "test/support/json-lines/kind.ts"), "utf8")
  return text.replaceAll('"../../../src/brokers/', '"../').replaceAll('"../../../src/', '"../../')
}

/** A file of test/support/tally as it would stand in src/extensions/tally. */
function tally(file: string): string {
  const text = readFileSync(join(ROOT, "test/support/tally", file), "utf8")
  return text.replaceAll('"../../../src/extensions/', '"../').replaceAll('"../../../src/', '"../../')
}

const EXAMPLES: { readonly [recipe: string]: Example } = {
  // a second one of a component
  "An option": {
    edits: [
      [
        "src/components/enricher.ts",
        "    value: oneOf(",
        '    origin: text({ default: "webhook", doc: "The value of source." }),\n    value: oneOf(',
      ],
      ["src/components/enricher.ts", "create: ({ value }, context)", "create: ({ value, origin }, context)"],
      ["src/components/enricher.ts", ": enrich),", ": enrich(origin)),"],
      [
        "src/components/enricher.ts",
        "const enrich: Processor = (event) => {",
        "const enrich = (origin: string): Processor => (event) => {",
      ],
      ["src/components/enricher.ts", '"source":"webhook"`', '"source":${JSON.stringify(origin)}`'],
      ["src/components/enricher.ts", "import { oneOf }", "import { oneOf, text }"],
      [
        "src/components/enricher.test.ts",
        '{ value: "enriched" }',
        '{ value: "enriched", origin: "webhook" }',
      ],
      [
        "src/components/enricher.test.ts",
        '{ value: "received" }',
        '{ value: "received", origin: "webhook" }',
      ],
      [
        "src/components/enricher.test.ts",
        '{ value: "received" }',
        '{ value: "received", origin: "webhook" }',
      ],
      ["test/support/option-changes.ts", "    Enricher: {", '    Enricher: {\n      origin: ["a", "b"],\n'],
      CHANGELOG,
    ],
    tests: [["src/components/enricher.test.ts"], [RELOADS, "-t", "Enricher origin"]],
  },
  "A provider": {
    edits: [
      [
        "src/verify/presets/schemes.ts",
        "  bitbucket: {",
        `  "example-shop": { hmac: { header: "X-Example-Signature" } },
  bitbucket: {`,
      ],
      [
        "src/verify/presets/profiles.ts",
        "  bitbucket: {",
        `  "example-shop": {
    title: "Example Shop",
    docs: "https://example.com/webhooks",
    event: { type: "json:/type" },
  },
  bitbucket: {`,
      ],
      [
        "test/support/senders.ts",
        "  bitbucket: ofBody",
        '  "example-shop": ofBody("X-Example-Signature", hex256),\n  bitbucket: ofBody',
      ],
      [
        "src/verify/samples/samples.json",
        '  "linear": {',
        '  "example-shop": { "headers": {}, "body": { "id": "{id}", "type": "order.paid" } },\n  "linear": {',
      ],
      CHANGELOG,
    ],
    tests: [["src/verify/presets", "test/e2e/provider-walk.test.ts"]],
  },
  "A component": {
    edits: [
      [
        "src/components/gate.ts",
        "",
        `// Hot path: every event of a pipeline with a Gate passes here.
import { oneOf } from "../config/options/option-types.ts"
import { Dropped } from "../pipeline/outcome.ts"
import { defineComponent } from "./define-component.ts"

/** Drops every event while it is closed. */
export const gate = defineComponent({
  kind: "processor",
  name: "Gate",
  summary: "Drops every event while it is closed.",
  options: {
    state: oneOf(["open", "closed"], { default: "open", doc: "Whether events pass." }),
  },
  create({ state }, { metrics }) {
    metrics.gated(0)
    return (event) => {
      if (state === "open") return event
      metrics.gated()
      return CLOSED
    }
  },
})

const CLOSED = new Dropped("gate_closed", "the Gate is closed", { isRoutine: true })
`,
      ],
      [
        "src/components/gate.test.ts",
        "",
        `import { expect, test } from "bun:test"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"
import { gate } from "./gate.ts"

test("an open Gate passes events", () => {
  const event = eventOf("{}")
  expect(gate.create({ state: "open" }, componentContext())(event, IN_TIME)).toBe(event)
})
`,
      ],
      ["src/components/registry.ts", "  deduplicator,\n", "  gate,\n  deduplicator,\n"],
      [
        "src/components/registry.ts",
        "import { router }",
        'import { gate } from "./gate.ts"\nimport { router }',
      ],
      [
        "test/support/option-changes.ts",
        "    Filter: {",
        '    Gate: { state: ["open", "closed"] },\n    Filter: {',
      ],
      CHANGELOG,
    ],
    tests: [["src/components/gate.test.ts"], [RELOADS, "-t", "Gate state"]],
  },
  "A broker": {
    edits: [
      ["src/brokers/json-lines/kind.ts", "", jsonLines()],
      [
        "src/brokers/registry.ts",
        "import { MEMORY }",
        'import { JSON_LINES } from "./json-lines/kind.ts"\nimport { MEMORY }',
      ],
      ["src/brokers/registry.ts", "EMBEDDED, POSTGRES, MEMORY]", "EMBEDDED, POSTGRES, JSON_LINES, MEMORY]"],
      [
        "test/support/option-changes.ts",
        '    "Embedded connection": {',
        `    "JSON lines connection": {
      json_lines: ["a.jsonl", "b.jsonl"],
      delivery_timeout: ["5s", "1s", { json_lines: "a.jsonl" }],
    },
    "Embedded connection": {`,
      ],
      CHANGELOG,
    ],
    tests: [[RELOADS, "-t", "JSON lines connection"], ["src/config/options/declarations.test.ts"]],
  },
  "An extension": {
    edits: [
      ["src/extensions/tally/section.ts", "", tally("section.ts")],
      ["src/extensions/tally/running.ts", "", tally("running.ts")],
      [
        "src/extensions/registry.ts",
        "import { silence }",
        'import { tally } from "./tally/section.ts"\nimport { silence }',
      ],
      ["src/extensions/registry.ts", "silence]", "silence, tally]"],
      CHANGELOG,
    ],
    tests: [["src/extensions"]],
  },
  "A metric": {
    edits: [
      [
        "src/telemetry/pipeline-metrics.ts",
        "  unfiltered: registry.tallies(",
        '  gated: registry.tallies("hookline_gated_events_total", "Events that a closed Gate dropped.", ["pipeline"]),\n  unfiltered: registry.tallies(',
      ],
      [
        "src/telemetry/pipeline-metrics.ts",
        "  /** An event without the Filter's value was kept. */",
        "  /** An event was dropped by the Gate. */\n  gated(count?: number): void {\n    this.#all.gated.at(this.#pipeline).add(count)\n  }\n\n  /** An event without the Filter's value was kept. */",
      ],
      [
        "deploy/grafana/hookline.json",
        "sum by (pipeline) (rate(hookline_unfiltered_events_total{",
        "sum by (pipeline) (rate(hookline_gated_events_total{",
      ],
      CHANGELOG,
    ],
    tests: [["src/telemetry"]],
  },
  "A command": {
    edits: [
      [
        "src/commands/greet.ts",
        "",
        `import { hostname } from "node:os"
import { HooklineError } from "../errors.ts"

/** Prints a greeting. @throws HooklineError \`usage\` for nobody */
export function greet(name: string, { host }: { readonly host?: true }): void {
  if (name === "") throw new HooklineError("usage", "the name is empty; name somebody")
  console.log(host === true ? \`hello \${name}, from \${hostname()}\` : \`hello \${name}\`)
}
`,
      ],
      [
        "src/commands/program.ts",
        '  addDetails(program.command("version")',
        `  addDetails(program.command("greet"), { example: "hookline greet Ada" })
    .description("print a greeting")
    .argument("<name>", "whom to greet")
    .action(async (name: string, flags: { host?: true }) => (await import("./greet.ts")).greet(name, flags))
  addDetails(program.command("version")`,
      ],
      [
        "test/e2e/greet.test.ts",
        "",
        `import { expect, test } from "bun:test"
import { hookline } from "../support/hookline.ts"

test("greet greets by name, and with --host says from where", async () => {
  expect((await hookline(["greet", "Ada"])).stdout).toBe("hello Ada\\n")
  expect((await hookline(["greet", "Ada", "--host"])).stdout).toMatch(/^hello Ada, from ./)
  expect((await hookline(["greet", ""])).status).toBe(64)
})
`,
      ],
      ["docs/command-line.md", "| `topics`  ", "| `greet NAME` | greets | |\n| `topics`  "],
      CHANGELOG,
    ],
    tests: [["test/e2e/commands.test.ts"]],
  },
  "A flag of a command": {
    edits: [
      [
        "src/commands/program.ts",
        '    .argument("<name>", "whom to greet")\n',
        '    .argument("<name>", "whom to greet")\n    .option("--host", "say from which machine")\n',
      ],
      CHANGELOG,
    ],
    tests: [["test/e2e/greet.test.ts"]],
  },
  "A timeout": {
    edits: [
      [
        "src/commands/greet.ts",
        "/** Prints a greeting.",
        `/** Long enough for a lookup that asks no server. */
const LOOKUP_TIMEOUT_MS = 1000

/** @internal */
export const machineName = (
  lookUp = async () => hostname(),
  timeoutMs = LOOKUP_TIMEOUT_MS,
): Promise<string> => within(timeoutMs, lookUp(), () => "an unknown machine")

/** Prints a greeting.`,
      ],
      ["src/commands/greet.ts", "export function greet(", "export async function greet("],
      ["src/commands/greet.ts", "}): void {", "}): Promise<void> {"],
      ["src/commands/greet.ts", "${hostname()}", "${await machineName()}"],
      [
        "src/commands/greet.ts",
        "import { HooklineError }",
        'import { within } from "../clock/clock.ts"\nimport { HooklineError }',
      ],
      [
        "src/commands/greet.test.ts",
        "",
        `import { expect, test } from "bun:test"
import { machineName } from "./greet.ts"

test("a name that is not found in time is unknown", async () => {
  expect(await machineName(() => new Promise(() => {}), 1)).toBe("an unknown machine")
})
`,
      ],
      CHANGELOG,
    ],
    tests: [["src/commands/greet.test.ts"], ["test/e2e/greet.test.ts"]],
  },
  "A fault test": {
    edits: [
      [
        "test/faults/example-stopped.test.ts",
        "",
        `import { test } from "bun:test"
import { fault, onLog, restarted } from "../support/fault.ts"

test("Hookline on an embedded log killed twice under load: nothing acknowledged is lost", async () => {
  await fault("example: Hookline on its log killed twice", onLog(), restarted(2))
})
`,
      ],
      ["test/run.ts", '  "embedded-disk",\n', '  "embedded-disk",\n  "example-stopped",\n'],
    ],
    tests: [["test/faults/example-stopped.test.ts"]],
  },
}

const run = (...command: readonly string[]): Promise<Ended> =>
  runToEnd(command, {
    cwd: copy,
    // the executable of this run is this checkout's; a sample of the options may lack the one that was added
    env: { ...process.env, NO_COLOR: "1", HOOKLINE_TEST_PROGRAM: undefined, HOOKLINE_CASES: "full" },
  })
async function succeed(...command: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run(...command)
  // behind a bar: these are no results of this file's tests
  const output = `${stdout}\n${stderr}`.replaceAll(/^/gm, "| ")
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}:\n${output}`)
  return stdout
}

function apply([file, before, after]: Edit): void {
  const path = join(copy, file)
  if (before === "") {
    mkdirSync(dirname(path), { recursive: true })
    return writeFileSync(path, after, { flag: "wx" })
  }
  const text = readFileSync(path, "utf8")
  if (!text.includes(before)) throw new Error(`${file} no longer has: ${before}`)
  writeFileSync(
    path,
    text.replace(before, () => after),
  )
}

beforeAll(() => {
  cpSync(ROOT, copy, { recursive: true, filter: (from) => !LEFT_OUT.includes(basename(from)) })
  for (const packages of ["node_modules", "test/node_modules"])
    if (existsSync(join(ROOT, packages))) symlinkSync(join(ROOT, packages), join(copy, packages))
})

test("every recipe of CONTRIBUTING.md is tried here", () => {
  const [, recipes = ""] = /\n## Recipes\n([^]*?)\n## /.exec(textOf("CONTRIBUTING.md")) ?? []
  expect([...recipes.matchAll(/^### (.*)$/gm)].map(([, name]) => name)).toEqual(Object.keys(EXAMPLES))
})

test("with an example of each recipe, npm run docs and npm run format leave nothing that npm run check finds", async () => {
  for (const { edits } of Object.values(EXAMPLES)) for (const edit of edits) apply(edit)
  await succeed("npm", "run", "docs")
  await succeed("npm", "run", "borders", "--", "--write", "--why", "an example of each recipe")
  await succeed("npm", "run", "format")
  await succeed("npm", "run", "check")
  const count = Object.keys(PRESETS).length + 1
  expect(readFileSync(join(copy, "README.md"), "utf8")).toContain(`${count} senders are known by name`)
})

test.each(Object.entries(EXAMPLES))("%s: its tests pass", async (_, { tests }) => {
  for (const files of tests) await succeed("bin/bun", "test", TEST_TIMEOUT, ...files)
})

test("what was added works: preset, component, option and metric in a pipeline", async () => {
  const program = [join(copy, "bin/bun"), join(copy, "src/cli.ts")]
  const pipeline = (id: string, more: string): string => `[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:${id}:Verifier]
provider = example-shop
secret = obviously-fake-secret
[pipeline:${id}:BrokerSink]
topic = ${id}
${more}
`
  const configuration = `[connection:log]
directory = log
[admin]
listen = 127.0.0.1:0
${pipeline("open", "[pipeline:open:Enricher]\norigin = example")}
${pipeline("closed", "[pipeline:closed:Gate]\nstate = closed")}`
  const at = folder.make("run")
  await using running = await startHookline(configuration, { folder: at, program })
  const body = '{"a":1}'
  const signature = createHmac("sha256", "obviously-fake-secret").update(body).digest("hex")
  for (const url of [running.urls["open"]!, running.urls["closed"]!])
    expect(
      (await fetch(url, { method: "POST", body, headers: { "X-Example-Signature": signature } })).status,
    ).toBe(200)
  const { stdout } = await runToEnd([...program, "tail", "open", "closed"], { cwd: at })
  expect(stdout).toMatch(/^\{"a":1,"received_at":"[^"]*","source":"example"\}\n$/)
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
  expect(metrics).toContain('hookline_gated_events_total{pipeline="closed"} 1')
})

test("a broker takes six files, two of them generated, and runs: check, /readyz, an event, the file, tail, metrics, reference", async () => {
  const edited = new Set(EXAMPLES["A broker"]!.edits.map(([file]) => file))
  const generated = ["docs/reference.md", "docs/reload.md"]
  for (const page of generated) {
    expect(textOf(page)).not.toContain("JSON lines connection")
    expect(readFileSync(join(copy, page), "utf8")).toContain("JSON lines connection")
  }
  expect(edited.size + generated.length).toBe(6)
  expect(readFileSync(join(copy, "docs/reference.md"), "utf8")).toMatch(
    /^\| `json_lines` \|.*\| required \|/m,
  )

  const program = [join(copy, "bin/bun"), join(copy, "src/cli.ts")]
  const at = folder.make("broker")
  const configuration = `[connection:lines]
json_lines = events.jsonl
[admin]
listen = 127.0.0.1:0
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:hooks:BrokerSink]
topic = hooks
`
  await using running = await startHookline(configuration, { folder: at, program })
  const checked = await runToEnd([...program, "check", "--connect"], { cwd: at })
  expect(checked.stdout).toContain(`connection lines: JSON lines in ${join(at, "events.jsonl")}\n`)
  expect(checked.status).toBe(0)
  expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
  const post = (n: number): Promise<Response> =>
    fetch(running.urls["hooks"]!, { method: "POST", body: `{"n":${n}}` })
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => post(n)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const lines = readFileSync(join(at, "events.jsonl"), "utf8").trimEnd().split("\n")
  const values = lines.map((line) => JSON.parse(line) as { topic: string; value: string })
  expect(values.map(({ topic, value }) => [topic, JSON.parse(value).n])).toEqual(
    expect.arrayContaining(answers.map((_, n) => ["hooks", n])),
  )
  const tailed = await runToEnd([...program, "tail", "hooks"], { cwd: at })
  expect(tailed.stdout.trimEnd().split("\n")).toEqual(values.map(({ value }) => value))
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/^hookline_publish_seconds_count\{connection="lines"\} [1-9]/m)
  expect(metrics).toContain('hookline_connection_ready{connection="lines"} 1')
  const wrong = "[connection:lines]\njson_line = a\n"
  writeFileSync(join(at, "wrong.conf"), configuration.replace(/\[connection[^[]*/, wrong))
  const refused = await runToEnd([...program, "check", "-c", "wrong.conf"], { cwd: at })
  expect(refused.stderr).toContain("did you mean `json_lines`?")
})

test("an extension takes a folder and a line, and has check, rows, metrics, a reload of its own and its file in a backup", async () => {
  const program = [join(copy, "bin/bun"), join(copy, "src/cli.ts")]
  const at = folder.make("extension")
  const pipeline = (id: string, path: string): string => `[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = 0
path = ${path}
[pipeline:${id}:BrokerSink]
topic = ${id}
[tally:of-${id}]
pipeline = ${id}
`
  const configuration = (path: string): string => `[connection:log]
directory = log
[admin]
listen = 127.0.0.1:0
${pipeline("a", path)}${pipeline("b", "/b")}`
  await using running = await startHookline(configuration("/a"), { folder: at, program })
  const post = async (id: string): Promise<number> =>
    (await fetch(running.urls[id]!, { method: "POST", body: "{}" })).status
  expect([await post("a"), await post("b"), await post("b")]).toEqual([200, 200, 200])
  const rows = async (): Promise<readonly { id: string; events: number; opened: string }[]> => {
    const overview = await (await fetch(`${running.adminUrl}/api/overview`)).json()
    return (overview as { tallies: { id: string; events: number; opened: string }[] }).tallies
  }
  const before = await rows()
  expect(before.map(({ id, events }) => [id, events])).toEqual([
    ["of-a", 1],
    ["of-b", 2],
  ])
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
  expect(metrics).toContain('hookline_tally_events{tally="of-b"} 2')

  const checked = await runToEnd([...program, "check"], { cwd: at })
  expect(checked.stdout).toContain("tally of-a: events of a\n")
  writeFileSync(join(at, "wrong.conf"), `${configuration("/a")}[tally:c]\npipeline = c\n`)
  const refused = await runToEnd([...program, "check", "-c", "wrong.conf"], { cwd: at })
  expect(refused.stderr).toContain('[tally:c] pipeline: unknown pipeline "c"')

  expect(await reload(running, at, configuration("/other"))).toBe("reloaded")
  const after = await rows()
  expect(after.map(({ id, events, opened }, n) => [id, events, opened === before[n]!.opened])).toEqual([
    ["of-a", 1, false],
    ["of-b", 2, true],
  ])
  const backedUp = await runToEnd([...program, "log", "backup", "backup"], { cwd: at })
  expect([backedUp.status, backedUp.stderr]).toEqual([0, expect.any(String)])
  expect(readFileSync(join(at, "backup/log/tally-of-b.txt"), "utf8")).toBe("2")
})
