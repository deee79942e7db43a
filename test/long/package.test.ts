import { beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { folderOfTests } from "../support/hookline.ts"
import { PROVIDER_NAMES } from "../../src/verify/presets/providers.ts"
import { freePort } from "../support/ports.ts"
import { hasTestPackages } from "../support/tools.ts"

// npm packs, builds and installs.
const root = join(import.meta.dir, "../..")
const folder = folderOfTests()
const project = join(folder.path, "project")
const installed = join(project, "node_modules/hookline")
const tarball = join(folder.path, `hookline-${manifest.version}.tgz`)

interface Ended {
  readonly status: number
  readonly output: string
}

async function run(command: readonly string[], cwd: string, input = ""): Promise<Ended> {
  const child = Bun.spawn([...command], {
    cwd,
    stdin: Buffer.from(input),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1", npm_config_audit: "false", npm_config_fund: "false" },
  })
  const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { status: await child.exited, output: out + error }
}

async function succeed(command: readonly string[], cwd: string, input?: string): Promise<string> {
  const { status, output } = await run(command, cwd, input)
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}:\n${output}`)
  return output
}

/** As docs/library.md shows it, and what a wrong use of it must not compile. */
const SAMPLE = `
import {
  Application, Pipeline, Dropped, brokerSink, deduplicator, defineComponent, enricher, kafkaConnection, option,
  memoryConnection, testPipeline, validator, verifier, webHookSource, type Event, type Processor,
} from "hookline"
import { Hono } from "hono"
import { verify } from "hookline/verify"
import { github } from "hookline/verify/senders"
import { verify as verifyOne } from "hookline/verify/hmac"

const secret = "0123456789abcdef"
const leaveOutPings: Processor = (event: Event, { state, log }) => {
  event.key = "a"
  event.headers.set("kind", "b")
  state.set("seen", log.level)
  return event.request.headers.has("x-ping") ? new Dropped("ping") : event
}
const limit = defineComponent({
  kind: "processor",
  name: "Limit",
  summary: "Refuses bodies over a limit.",
  options: { max_bytes: option.integer({ min: 1, max: 1_000_000, doc: "The largest body." }) },
  create: ({ max_bytes }, { log, pipeline }) => (event) => {
    log.debug({ pipeline }, "seen")
    return event.body.length > max_bytes ? new Dropped("large") : event
  },
})
const pipeline = new Pipeline("payments", {
  source: webHookSource({ path: "/payments", maxBodyBytes: "256KiB", rateLimit: 1000 }),
  processors: [
    verifier({ provider: "hmac", secret, header: "x-signature", tolerance: "5m" }),
    validator({ onInvalid: "reject" }),
    leaveOutPings,
    limit({ maxBytes: 1000 }),
    deduplicator({ key: "json:/id", window: "1h", store: "memory" }),
    enricher(),
  ],
  sink: brokerSink({ topic: "payments", key: (event) => event.json<{ id?: string }>().id, headers: ["kind=json:/kind"] }),
})
const app = new Application({ service: { logLevel: "silent", drainTimeout: "1s", maxInFlightBytes: 2 ** 20 } })
const memory = app.registerConnection("kafka", memoryConnection({ deliveryTimeout: 1000 }))
app.addPipeline(pipeline)

const body = '{"id":1}'
const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
const signed = new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(body)))
const signature = Array.from(signed, (byte) => byte.toString(16).padStart(2, "0")).join("")
const post = (id: string) =>
  new Request("http://localhost/payments", { method: "POST", body, headers: { "x-signature": id } })

const tested = await testPipeline(pipeline, body, { headers: { "x-signature": signature } })
const hono = new Hono().all("/payments", (c) => app.fetch(c.req.raw, { remoteAddress: "127.0.0.1" }))
const statuses: number[] = [
  tested.status,
  (await testPipeline(pipeline, { id: 1 })).status,
  (await app.fetch(post("00"))).status,
  (await hono.fetch(post(signature))).status,
]
const values: string[] = []
for await (const record of app.read(memory, "payments", { from: "beginning" }))
  values.push(new TextDecoder().decode(record.value))
await app.stop()
console.log(JSON.stringify({ statuses, outcome: tested.outcome?.kind, tested: tested.records.length, values: values.length }))

export async function elsewhere(request: Request): Promise<unknown> {
  const result = await verify(request, { provider: "stripe", secret, tolerance: "5m" })
  // @ts-expect-error no such provider
  await verify(request, { provider: "strip", secret })
  return result.isVerified ? result.body : verifyOne(request, { sender: github, secret })
}

export function wrong(): void {
  // @ts-expect-error a sink has a topic
  brokerSink({})
  // @ts-expect-error a sink has a topic
  brokerSink()
  // @ts-expect-error a verifier has a provider
  verifier({ secret })
  // @ts-expect-error options are in camel case
  webHookSource({ max_body_bytes: 1 })
  // @ts-expect-error no such unit
  memoryConnection({ deliveryTimeout: "5 parsecs" })
  // @ts-expect-error no such option
  kafkaConnection({ bootstrapServers: ["localhost:9092"], retries: 3 })
  // @ts-expect-error a list
  kafkaConnection({ bootstrapServers: "localhost:9092" })
  // @ts-expect-error not its form
  limit({ maxBytes: "1KiB" })
  // @ts-expect-error Stripe signs with a secret
  verifier({ provider: "stripe" })
  // @ts-expect-error it may be undefined
  verifier({ provider: "stripe", secret: undefined as string | undefined })
  // @ts-expect-error Discord signs with a key pair
  verifier({ provider: "discord", secret })
  // @ts-expect-error no such provider
  verifier({ provider: "strip", secret })
  // @ts-expect-error not an option of GitHub's
  verifier({ provider: "github", secret, tolerance: "5m" })
  verifier({ provider: "alertmanager", username: "a", password: "b" })
  verifier({ provider: "provider:acme", secret, tolerance: 0 })
  brokerSink({ topic: "payments", connection: memory })
  // @ts-expect-error a connection, or its id
  brokerSink({ topic: "payments", connection: app })
  // @ts-expect-error neither an address nor a server
  void app.fetch(post(signature), { address: "127.0.0.1" })
}

export function inside(event: Event): unknown[] {
  return [
    // @ts-expect-error the pipeline's
    event.dedupeKey,
    // @ts-expect-error the pipeline's
    event.memory,
    // @ts-expect-error the pipeline's
    event.release,
    // @ts-expect-error the pipeline's
    event.settle,
    // @ts-expect-error the pipeline's
    event.list,
  ]
}
`

/** TypeScript's releases that others have, the oldest first: docs/library.md names it. */
const COMPILERS = { "typescript-5.4": "npm:typescript@5.4.5", "typescript-5.9": "npm:typescript@5.9.3" }

beforeAll(async () => {
  await succeed(["npm", "pack", "--pack-destination", folder.path], root)
  const { hono, typescript, "@types/bun": bunTypes } = manifest.devDependencies
  const others = { ...COMPILERS, esbuild: "0.27.2", vitest: "4.1.12" }
  const devDependencies = { hono, typescript, "@types/bun": bunTypes, ...others }
  await Bun.write(
    join(project, "package.json"),
    JSON.stringify({ name: "project", private: true, type: "module", devDependencies }),
  )
  await Bun.write(join(project, "sample.ts"), SAMPLE)
  await succeed(["npm", "install", "--prefer-offline", tarball], project)
})

test("the package has compiled modules, each with its types and source map, and neither tests nor sources", () => {
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" }).filter(
    (it) => !it.startsWith("node_modules"),
  )
  const sources = files.filter((it) => it.endsWith(".test.js") || /(?<!\.d)\.ts$/.test(it))
  expect(sources).toEqual(sources.filter((it) => it.startsWith("examples/")))
  for (const file of files.filter((it) => it.startsWith("dist/") && it.endsWith(".js"))) {
    // bundles of SDKs have no types, which would name packages that are not installed
    if (file === "dist/needs-bun.js" || file.endsWith("-sdk.js")) continue
    expect(files).toContain(file.replace(/\.js$/, ".d.ts"))
    // put in place of the module that bundles them: the page's files, and what runs everywhere
    if (file === "dist/admin/built-page.js" || file.startsWith("dist/verify/anywhere/")) continue
    expect(files).toContain(`${file}.map`)
  }
  const map = JSON.parse(readFileSync(join(installed, "dist/index.js.map"), "utf8")) as {
    sourcesContent?: string[]
  }
  expect(map.sourcesContent).toHaveLength(1)
})

test("the public types name no other package's types, and none of a runtime", () => {
  const foreign: string[] = []
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(file, "utf8").replaceAll(/\/\*[^]*?\*\//g, "")
    for (const [, specifier = ""] of text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
      if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier.replace(/\.js$/, ".d.ts")))
      else foreign.push(`${relative(installed, file)}: ${specifier}`)
    }
    for (const [name] of text.matchAll(/\b(?:Bun\.\w+|NodeJS\.\w+|Buffer|Timer|Worker)\b/g))
      foreign.push(`${relative(installed, file)}: ${name}`)
  }
  visit(join(installed, "dist/index.d.ts"))
  expect(foreign).toEqual([])
})

describe("a project that uses it compiles strictly", () => {
  const libraries = {
    "without any types of a runtime": { types: [], lib: ["ESNext", "DOM", "DOM.AsyncIterable"] },
    "with Bun's types": { types: ["bun"], lib: ["ESNext"] },
  }
  const resolutions = {
    nodenext: { module: "NodeNext", moduleResolution: "NodeNext" },
    bundler: { module: "Preserve", moduleResolution: "Bundler" },
  }
  const rows = Object.entries(resolutions).flatMap(([name, resolution]) =>
    Object.entries(libraries).map(
      ([types, library]) => [name, types, { ...resolution, ...library }] as const,
    ),
  )
  test.each(rows)("under %s, %s", async (name, types, options) => {
    const compilerOptions = {
      ...options,
      target: "ESNext",
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    }
    const config = `tsconfig.${name}.${types.length}.json`
    await Bun.write(join(project, config), JSON.stringify({ compilerOptions, files: ["sample.ts"] }))
    expect(await run(["node_modules/.bin/tsc", "-p", config], project)).toEqual({ status: 0, output: "" })
  })
})

test.each(Object.keys(COMPILERS))("%s compiles it strictly, with its types checked", async (compiler) => {
  // Hono's own types need a later one
  const withoutHono = SAMPLE.split("\n").filter((line) => !/hono/i.test(line))
  await Bun.write(join(project, "library.ts"), withoutHono.join("\n"))
  const compilerOptions = {
    module: "NodeNext",
    target: "ES2022",
    lib: ["ESNext", "DOM", "DOM.AsyncIterable"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
  }
  const config = `tsconfig.${compiler}.json`
  await Bun.write(join(project, config), JSON.stringify({ compilerOptions, files: ["library.ts"] }))
  const tsc = join(project, "node_modules", compiler, "bin/tsc")
  expect(await run(["node", tsc, "-p", config], project)).toEqual({ status: 0, output: "" })
})

test("an editor shows what each option means, and completes providers", async () => {
  const names = [
    "KafkaConnection",
    "EmbeddedConnection",
    "MemoryConnection",
    "Admin",
    "Service",
    "Traces",
    "Provider",
    "WebHookSource",
    "Verifier",
    "Decoder",
    "Validator",
    "Filter",
    "Deduplicator",
    "Router",
    "BrokerSink",
  ]
  const types = names.map((it) => `${it}Options`)
  const source = `import { verifier, webHookSource, type ${types.join(", type ")} } from "hookline"
export type All = { ${types.map((it) => `${it}: ${it}`).join("; ")} }
webHookSource({ maxBodyBytes: 1 })
verifier({ provider: "stripe", secret: "a" })
`
  await Bun.write(join(project, "hovered.ts"), source)
  const program = `
import ts from "typescript-5.9"
const file = process.cwd() + "/hovered.ts"
const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true, noEmit: true, types: [] }
const service = ts.createLanguageService({
  getCompilationSettings: () => options, getScriptFileNames: () => [file], getScriptVersion: () => "1",
  getScriptSnapshot: (name) => ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(ts.sys.readFile(name)) : undefined,
  getCurrentDirectory: () => process.cwd(), getDefaultLibFileName: ts.getDefaultLibFilePath, fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile, readDirectory: ts.sys.readDirectory, directoryExists: ts.sys.directoryExists,
})
const all = service.getProgram(), checker = all.getTypeChecker(), text = all.getSourceFile(file)
const declared = checker.getTypeAtLocation(text.statements[1])
const undocumented = [], documented = []
for (const section of declared.getProperties())
  for (const type of [checker.getTypeOfSymbol(section)].flatMap((it) => it.isUnion() ? it.types : [it]))
    for (const option of checker.getPropertiesOfType(type))
      (ts.displayPartsToString(option.getDocumentationComment(checker)).length > 10 ? documented : undocumented).push(section.name + "." + option.name)
const hover = (word) => ts.displayPartsToString(service.getQuickInfoAtPosition(file, text.text.lastIndexOf(word)).documentation)
const completed = service.getCompletionsAtPosition(file, text.text.lastIndexOf("stripe"), {}).entries.map((it) => it.name)
console.log(JSON.stringify({ undocumented, documented: new Set(documented).size, hovers: ["maxBodyBytes", "provider:", "secret"].map(hover), completed }))`
  const shown = JSON.parse(await succeed(["node", "--input-type=module", "-e", program], project)) as {
    undocumented: string[]
    documented: number
    hovers: string[]
    completed: string[]
  }
  expect(shown.undocumented).toEqual([])
  expect(shown.documented).toBeGreaterThan(150)
  expect(shown.hovers).toEqual([
    expect.stringMatching(/body/),
    expect.stringMatching(/^The sender/),
    expect.stringMatching(/^One or several/),
  ])
  expect(shown.completed).toEqual(expect.arrayContaining([...PROVIDER_NAMES]))
})

const SHOWN = ["library.md", "handlers.md", "own-providers.md", "verify.md", "cookbook/stripe-to-postgres.md"]

test("the programs that pages show compile", async () => {
  const files: string[] = []
  for (const page of SHOWN) {
    const blocks = readFileSync(join(installed, "docs", page), "utf8").matchAll(/^```ts\n([^]*?)^```$/gm)
    for (const [, code = ""] of blocks) {
      const file = `shown-${files.length}.ts`
      await Bun.write(join(project, file), `${code}export {}\n`)
      files.push(file)
    }
  }
  expect(files.length).toBeGreaterThan(10)
  const compilerOptions = {
    module: "NodeNext",
    target: "ESNext",
    lib: ["ESNext"],
    types: ["bun"],
    strict: true,
    // types of Hono for Bun need those of the DOM
    skipLibCheck: true,
    noEmit: true,
  }
  await Bun.write(join(project, "tsconfig.shown.json"), JSON.stringify({ compilerOptions, files }))
  expect(await run(["node_modules/.bin/tsc", "-p", "tsconfig.shown.json"], project)).toEqual({
    status: 0,
    output: "",
  })
})

test("it runs on Bun, alone and mounted in Hono", async () => {
  const output = await succeed([process.execPath, "sample.ts"], project)
  expect(JSON.parse(output)).toEqual({
    statuses: [200, 401, 401, 200],
    outcome: "accepted",
    tested: 1,
    values: 1,
  })
})

test("vitest runs a test of it on Bun, though it resolves modules as for Node.js", async () => {
  const program = `
import { expect, test } from "vitest"
import { Pipeline, brokerSink, testPipeline, webHookSource } from "hookline"
test("a pipeline answers", async () => {
  const pipeline = new Pipeline("hooks", { source: webHookSource(), processors: [], sink: brokerSink({ topic: "hooks" }) })
  expect((await testPipeline(pipeline, { a: 1 })).status).toBe(200)
})`
  await Bun.write(join(project, "vitest/a.test.ts"), program)
  const vitest = join(project, "node_modules/.bin/vitest")
  expect(await succeed([process.execPath, "--bun", vitest, "run", "--dir", "vitest"], project)).toMatch(
    /1 passed/,
  )
})

test.each([
  [
    "esbuild",
    [
      "node_modules/.bin/esbuild",
      "--bundle",
      "--platform=node",
      "--format=esm",
      "--external:bun",
      "--external:bun:*",
    ],
  ],
  ["Bun", [process.execPath, "build", "--target", "bun"]],
])("a minified bundle by %s runs on Bun, with a JSON Schema", async (name, bundler) => {
  const program = `
import { Application, Pipeline, brokerSink, memoryConnection, validator, webHookSource } from "hookline"
const app = new Application({ service: { logLevel: "silent" } })
app.registerConnection("kafka", memoryConnection())
app.addPipeline(new Pipeline("hooks", {
  source: webHookSource(), processors: [validator({ schema: "schema.json" })], sink: brokerSink({ topic: "hooks" }),
}))
const post = (body: string) => app.fetch(new Request("http://localhost/webhook", { method: "POST", body }))
console.log((await post('{"a":[1,2]}')).status, (await post('{"a":[1,1]}')).status)
await app.stop()`
  await Bun.write(join(project, "schema.json"), '{"properties":{"a":{"uniqueItems":true}}}')
  await Bun.write(join(project, "bundled.ts"), program)
  const bundle = `bundled.${name}.js`
  await succeed([...bundler, "bundled.ts", "--minify", `--outfile=${bundle}`], project)
  expect(await succeed([process.execPath, bundle], project)).toBe("200 400\n")
})

test.each([
  'import { Application } from "hookline"; new Application()',
  'import * as hookline from "hookline"; hookline',
  'await import("hookline")',
])("on Node %s says in one line that Bun is needed", async (program) => {
  const { status, output } = await run(["node", "--input-type=module", "-"], project, program)
  expect(status).toBe(1)
  expect(output.split("\n").filter((line) => /Bun/i.test(line))).toEqual([
    "[Error: hookline runs on Bun, not on Node.js: start the program with bun, see https://bun.com]",
  ])
  expect(output).not.toContain("    at ")
})

test("the installed command line runs the compiled files: it publishes to an embedded log and reads it back", async () => {
  const command = join(project, "node_modules/.bin/hookline")
  expect(existsSync(join(installed, "src"))).toBe(false)
  expect((await succeed([command, "--version"], project)).trim()).toBe(manifest.version)
  const port = await freePort()
  await Bun.write(
    join(project, "pipelines.conf"),
    `[connection:log]
directory = data
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = ${port}
[pipeline:hooks:BrokerSink]
topic = hooks
[admin]
listen = off
`,
  )
  const child = Bun.spawn([command, "run"], { cwd: project, stdout: "pipe", stderr: "inherit" })
  let log = ""
  for await (const chunk of child.stdout) {
    log += Buffer.from(chunk).toString()
    if (log.includes('"started"')) break
  }
  const answer = await fetch(`http://127.0.0.1:${port}/webhook`, { method: "POST", body: '{"a":1}' })
  expect(answer.status).toBe(200)
  child.kill("SIGTERM")
  expect(await child.exited).toBe(0)
  expect(JSON.parse(await succeed([command, "tail", "hooks"], project))).toMatchObject({ a: 1 })
})

test("whoever installs it has at most 60 packages, itself among them, and none of those that are bundled", async () => {
  const user = folder.make("user")
  await succeed(["npm", "install", "--prefix", user, "--prefer-offline", tarball], user)
  const lock = readFileSync(join(user, "node_modules/.package-lock.json"), "utf8")
  const { packages } = JSON.parse(lock) as { packages: { [path: string]: unknown } }
  const names = Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, ""))
  expect(names).toContain("hookline")
  expect(names.filter((it) => /^(?:@aws-sdk|@smithy|@modelcontextprotocol|zod|preact)\b/.test(it))).toEqual(
    [],
  )
  expect(names.length).toBeLessThanOrEqual(60)
})

test("the installed command line serves the Model Context Protocol, and finds AWS's credentials wherever they are", async () => {
  const command = join(project, "node_modules/.bin/hookline")
  const here = folder.make("sdks")
  await Bun.write(join(here, "mcp.conf"), "[connection:log]\ndirectory = data\n")
  const clientInfo = { name: "test", version: "1" }
  const messages = [
    {
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
    },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: { name: "requests", arguments: { limit: "many" } } },
  ]
  const input = messages.map((it) => `${JSON.stringify({ jsonrpc: "2.0", ...it })}\n`).join("")
  const answers = (await succeed([command, "mcp", "-c", "mcp.conf"], here, input)).trim().split("\n")
  expect(answers.map((it) => JSON.parse(it) as unknown)).toEqual([
    expect.objectContaining({
      result: expect.objectContaining({ serverInfo: { name: "hookline", version: manifest.version } }),
    }),
    expect.objectContaining({
      result: {
        isError: true,
        content: [expect.objectContaining({ text: expect.stringContaining("limit must be") })],
      },
    }),
  ])

  // the tests of the module, with the bundle in the place of the packages
  const preload = join(here, "preload.ts")
  const bundle = JSON.stringify(join(installed, "dist/brokers/kafka/auth/aws-sdk.js"))
  await Bun.write(
    preload,
    `import { plugin } from "bun"
const resolve = () => (console.error("the bundle is taken"), { path: ${bundle} })
plugin({ name: "bundle", setup: (build) => build.onResolve({ filter: /\\/aws-sdk\\.ts$/ }, resolve) })`,
  )
  const tests = "src/brokers/kafka/auth/msk-iam.test.ts"
  const output = await succeed([process.execPath, "test", "--preload", preload, tests], root)
  expect(output).toContain("the bundle is taken")
})

test("the installed command line is what a module of --components imports as hookline", async () => {
  const here = folder.make("components")
  for (const name of ["redact.ts", "pipelines.conf"])
    await Bun.write(join(here, name), Bun.file(join(installed, "examples/components", name)))
  const text = await Bun.file(join(here, "pipelines.conf")).text()
  await Bun.write(join(here, "pipelines.conf"), text.replaceAll(/^\[.*:(Split|Lookup)\]\n.*\n/gm, ""))
  const command = [join(project, "node_modules/.bin/hookline"), "check", "--components", "redact.ts"]
  expect(await succeed(command, here)).toContain("Configuration OK")
})

test.skipIf(!hasTestPackages())("publint and attw find nothing wrong with the tarball", async () => {
  const bin = join(root, "test/node_modules/.bin")
  expect(await succeed([join(bin, "publint"), "run", tarball, "--strict"], project)).toContain("All good!")
  const types = await run([join(bin, "attw"), tarball, "--profile", "esm-only", "--format", "ascii"], project)
  expect(types.status, types.output).toBe(0)
})
