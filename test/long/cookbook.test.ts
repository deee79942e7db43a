import { SQL } from "bun"
import { describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { makeSigner } from "../../src/verify/presets/providers.ts"
import { sampleRequest } from "../../src/verify/samples/samples.ts"
import { makeCertificate, withPemFiles } from "../support/certificate.ts"
import { endingWithThisProcess, runToEnd, untilAnswers } from "../support/child.ts"
import { blocksOf, pages, ROOT, type Block } from "../support/documents.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { hasPostgres, makePostgres } from "../support/postgres.ts"
import { PROGRAM } from "../support/program.ts"
import { hasProxy, nginxWith, runProxy } from "../support/proxies.ts"
import { Receiver } from "../support/receiver.ts"

/*
 * The recipes of docs/cookbook and docs/migrating, run with what they say but for addresses, paths of the machine, and an
 * embedded log in the place of Kafka: each pipeline takes a signed event and refuses an unsigned one.
 */

const RECIPES = pages().filter((page) => /^docs\/(cookbook|migrating)\//.test(page))
const SECRET = "obviously-fake-secret"

/** The files of a page, by their names: `# pipelines.conf`. */
const filesOf = (page: string): ReadonlyMap<string, string> =>
  new Map(
    blocksOf(page).flatMap(({ language, text }): [string, string][] => {
      const name = /^# (\S+\.conf)\n/.exec(text)?.[1]
      return language === "ini" && name !== undefined ? [[name, text]] : []
    }),
  )

/** A file of a recipe as this machine can have it. */
function here(text: string, folder: string, application: string): string {
  const secrets = join(folder, "secrets")
  mkdirSync(secrets, { recursive: true, mode: 0o700 })
  return text
    .replaceAll(/^bootstrap_servers = .*$/gm, "directory = /var/lib/hookline/log")
    .replaceAll(/^(host|spool) = .*\n/gm, "")
    .replaceAll(/^port = .*$/gm, "port = 0")
    .replaceAll(/^(listen|kafka_listen) = .*$/gm, "$1 = 127.0.0.1:0")
    .replaceAll(/^url = .*$/gm, `url = ${application}`)
    .replaceAll("/var/lib/hookline", join(folder, "data"))
    .replaceAll(/\/etc\/hookline\/secrets\/(\w+)/g, (_, name: string) => {
      writeFileSync(join(secrets, name), SECRET, { mode: 0o600 })
      return join(secrets, name)
    })
}

/** The name that proxies pass requests of. */
const HOST: [string, string] = ["Host", "hooks.example.com"]

/** Posts a sample event. Returns the status, and its body. */
async function post(
  url: string,
  provider: string,
  { isSigned = true, id = crypto.randomUUID() as string } = {},
): Promise<[number, string]> {
  const { headers, body } = sampleRequest(provider, { id, number: 1, atMs: Date.now() })
  const signer = makeSigner(provider, { secret: [SECRET] })
  const signed = await signer.sign({ method: "POST", url, headers, body, id }, Date.now())
  const { status } = await fetch(url, {
    method: "POST",
    headers: [...(isSigned ? signed.headers : headers), HOST],
    body: Buffer.from(signed.body),
    tls: { rejectUnauthorized: false },
  })
  return [status, Buffer.from(body).toString()]
}

describe.each(RECIPES.filter((page) => filesOf(page).size > 0))("%s", (page) => {
  test("its pipelines take signed events and refuse unsigned ones", async () => {
    using folder = temporaryFolder()
    await using application = new Receiver()
    const files = [...filesOf(page)].map(([name, text]): [string, string] => [
      name,
      here(text, folder.path, application.url),
    ])
    const texts = new Map(files)
    for (const [name, text] of texts) {
      mkdirSync(dirname(join(folder.path, name)), { recursive: true })
      writeFileSync(join(folder.path, name), text)
      withPemFiles(text, folder.path)
    }
    await using running = await startHookline(texts.get("pipelines.conf")!, { folder: folder.path })
    const all = [...texts.values()].join("\n")
    const pipelines = [...all.matchAll(/\[pipeline:(\w+):Verifier\]\nprovider = (\S+)/g)]
    expect(pipelines.length).toBeGreaterThan(0)
    for (const [, id = "", provider = ""] of pipelines) {
      const url = running.urls[id]!
      expect((await post(url, provider, { isSigned: false }))[0]).toBe(401)
      const [status, body] = await post(url, provider)
      expect(status).toBe(200)
      const config = join(folder.path, "pipelines.conf")
      const tail = [...PROGRAM, "tail", "--format", "value", id, "-c", config]
      expect((await runToEnd(tail)).stdout).toContain(body.slice(1, -1))
    }
    if (all.includes("[forward:")) await application.count(1)
  })
})

const blockOf = (page: string, wanted: string): Block =>
  blocksOf(page).find(({ language }) => language === wanted)!

const MACHINE = "docs/cookbook/one-small-machine.md"

/** The page that has each proxy. */
const PAGES_OF = { caddy: MACHINE, nginx: "docs/proxies.md" } as const

/** The proxies' configuration with addresses and certificates that a test can have. */
const PROXIES = {
  nginx: (text: string, listen: number, folder: string): string =>
    nginxWith(
      text
        .replace("listen 443", `listen 127.0.0.1:${listen}`)
        .replaceAll(/\/etc\/letsencrypt\/live\/[\w.]+/g, folder),
      folder,
    ),
  // local_certs: by a CA of its own, as Let's Encrypt does not know this machine
  caddy: (text: string, listen: number): string => `{
  admin off
  auto_https disable_redirects
  default_bind 127.0.0.1
  default_sni hooks.example.com
  https_port ${listen}
  local_certs
  skip_install_trust
}
${text}
`,
} as const

for (const program of ["nginx", "caddy"] as const)
  test.skipIf(!hasProxy({ program }))(`one small machine: ${program} passes a signed event on`, async () => {
    using folder = temporaryFolder()
    const configuration = here(filesOf(MACHINE).get("pipelines.conf")!, folder.path, "")
    await using running = await startHookline(configuration, { folder: folder.path })
    const { port } = new URL(running.urls["stripe"]!)
    const text = blockOf(PAGES_OF[program], program).text.replace("127.0.0.1:8080", `127.0.0.1:${port}`)
    await using proxy = await runProxy(program, (listen, own) => {
      const { pem, privateKey } = makeCertificate("hooks.example.com", { nowMs: Date.now() })
      writeFileSync(join(own, "fullchain.pem"), pem)
      writeFileSync(join(own, "privkey.pem"), privateKey.export({ format: "pem", type: "pkcs8" }).toString())
      return PROXIES[program](text, listen, own)
    })
    const url = `https://127.0.0.1:${proxy.port}/stripe`
    // Caddy listens before it has made its certificate
    await untilAnswers(proxy.process, () => answers(url))
    expect((await post(url, "stripe", { isSigned: false }))[0]).toBe(401)
    expect((await post(url, "stripe"))[0]).toBe(200)
  })

for (const kind of ["SQLite", "PostgreSQL, down at the start"])
  test.skipIf(kind !== "SQLite" && !hasPostgres())(
    `Stripe to Postgres (${kind}): an event becomes one row, also when it is sent twice`,
    async () => {
      using folder = temporaryFolder()
      await using postgres = kind === "SQLite" ? undefined : await makePostgres()
      const port = await freePort()
      const program = blockOf("docs/cookbook/stripe-to-postgres.md", "ts").text.replace("8080", `${port}`)
      const paths = { hookline: [join(ROOT, "src/index.ts")] }
      writeFileSync(join(folder.path, "tsconfig.json"), JSON.stringify({ compilerOptions: { paths } }))
      writeFileSync(join(folder.path, "payments.ts"), program)
      const DATABASE_URL = postgres?.url ?? `sqlite://${join(folder.path, "shop.sqlite")}`
      const child = Bun.spawn(endingWithThisProcess(process.execPath, "payments.ts"), {
        cwd: folder.path,
        env: { ...process.env, DATABASE_URL, STRIPE_WEBHOOK_SECRET: SECRET },
        stdout: "ignore",
        stderr: "inherit",
      })
      const url = `http://127.0.0.1:${port}/stripe`
      const id = crypto.randomUUID()
      await untilAnswers(child, () => answers(url))
      const [first, body] = await post(url, "stripe", { id })
      expect([first, (await post(url, "stripe", { id }))[0]]).toEqual([200, 200])
      postgres?.start()
      const sql = new SQL(DATABASE_URL)
      // the program writes meanwhile
      if (postgres === undefined) await sql`PRAGMA busy_timeout = 30000`
      const rows = (): Promise<{ id: string; type: string }[]> => sql`SELECT id, type FROM stripe_events`
      // until the database has started, and the table is there
      const found = (): Promise<number> =>
        rows().then(
          ({ length }) => length,
          () => 0,
        )
      while ((await found()) === 0) await Bun.sleep(20)
      child.kill("SIGTERM")
      expect(await child.exited).toBe(0)
      const { type } = JSON.parse(body) as { type: string }
      expect((await rows()).map((it) => it.type)).toEqual([type])
      await sql.close()
    },
  )

const answers = async (url: string): Promise<boolean> =>
  (await fetch(url, { headers: [HOST], tls: { rejectUnauthorized: false } })).status > 0
