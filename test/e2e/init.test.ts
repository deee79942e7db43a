import { expect, test } from "bun:test"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { PROVIDER_NAMES } from "../../src/verify/presets/providers.ts"
import { init } from "../../src/commands/init.ts"
import { Application } from "../../src/index.ts"
import { folderOfTests, hookline, startHookline } from "../support/hookline.ts"

const folder = folderOfTests()

test("a file for GitHub passes check, and accepts what its secret signs", async () => {
  const at = folder.make("github")
  const { status, stdout } = await hookline(["init", "github"], { cwd: at })
  const file = join(at, "pipelines.conf")
  const secretFile = join(at, "secrets/github")
  expect(status).toBe(0)
  expect(stdout).toMatch(
    /^wrote .*secrets\/github\nwrote .*pipelines.conf\n\n[^]*At GitHub: [^]* check\n[^]* run\n$/,
  )
  expect(statSync(secretFile).mode & 0o777).toBe(0o600)
  const secret = readFileSync(secretFile, "utf8")
  expect(secret).toMatch(/^[0-9a-f]{64}\n$/)
  const before = readFileSync(file, "utf8")
  expect(before).toContain("secret = ${file:secrets/github}\n")
  expect(before + stdout).not.toContain(secret.trim())
  expect((await hookline(["check"], { cwd: at })).status).toBe(0)

  await using running = await startHookline(before, { folder: at })
  const url = running.urls["github"]!
  const sent = await hookline(["send", "-p", "github", "--secret-file", secretFile, url])
  expect([sent.status, sent.stderr]).toEqual([0, ""])
})

test("a second sender is added to a file that exists, the same one and nobody are not", async () => {
  const at = folder.make("second")
  const file = join(at, "pipelines.conf")
  // without a newline at its end
  writeFileSync(file, readFileSync(join(import.meta.dir, "../../pipelines.conf"), "utf8").trimEnd())
  const before = readFileSync(file, "utf8")
  const added = await hookline(["init", "github"], { cwd: at })
  expect([added.status, added.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^wrote .*secrets\/github\nadded \[pipeline:github:WebHookSource\], .* to .*pipelines.conf\n\n[^]* check\n {2}\S+ reload\n$/,
    ),
  ])
  const after = readFileSync(file, "utf8")
  expect(after).toStartWith(`${before}\n\n[pipeline:github:WebHookSource]\nport = 8080\npath = /github\n`)
  await using running = await startHookline(after.replaceAll("port = 8080\n", ""), { folder: at })
  expect(Object.keys(running.urls)).toEqual(["webhooks", "github"])
  const sent = await hookline(
    ["send", "-p", "github", "--secret-file", "secrets/github", running.urls["github"]!],
    { cwd: at },
  )
  expect([sent.status, sent.stderr]).toEqual([0, ""])
  await running.stop()
  writeFileSync(file, after)
  for (const [args, reason] of [
    [["github"], "has a pipeline github"],
    [[], "exists and is not overwritten; name a provider"],
  ] as const) {
    const again = await hookline(["init", ...args], { cwd: at })
    expect([again.status, again.stderr]).toEqual([64, expect.stringContaining(reason)])
  }
  expect(readFileSync(file, "utf8")).toBe(after)
})

test.each([
  ["no connection", "[admin]\nlisten = off\n", "[connection:log]"],
  [
    "two connections",
    "[connection:a]\ndirectory = a\n[connection:b]\ndirectory = b\n",
    "topic = stripe\nconnection = a\n",
  ],
  [
    "a pipeline on another port",
    "[connection:log]\ndirectory = log\n[pipeline:one:WebHookSource]\nhost = 127.0.0.1\nport = 9000\n[pipeline:one:BrokerSink]\ntopic = one\n",
    "[pipeline:stripe:WebHookSource]\nhost = 127.0.0.1\nport = 9000\npath = /stripe\n",
  ],
  ["an empty file", "", "[connection:log]"],
])("%s: the pipeline that is added has what it needs", async (name, before, expected) => {
  const config = join(folder.make(name), "pipelines.conf")
  writeFileSync(config, before)
  const said = init("stripe", { config })
  expect(said).toContain(`port ${/port = (\d+)/.exec(before)?.[1] ?? "8080"}, path /stripe;`)
  expect(readFileSync(config, "utf8")).toContain(expected)
  const { plan } = await Application.fromFile(config).diagnose({ alone: false })
  expect(plan?.pipelines.map(({ id }) => id)).toContain("stripe")
})

test("every provider's file is a configuration, unless it needs a key that only the provider has, and check warns of what its user alone knows", async () => {
  const needsKey: string[] = []
  const warned: string[] = []
  for (const provider of PROVIDER_NAMES) {
    const config = join(folder.make(`all-${provider}`), "pipelines.conf")
    try {
      init(provider, { config })
    } catch (error) {
      expect((error as Error).message).toMatch(
        /^(public_key|webhook_id): is missing; .*: give it with --set \1=…$/,
      )
      expect(existsSync(config)).toBe(false)
      needsKey.push(provider)
      continue
    }
    const { plan, problems } = await Application.fromFile(config).diagnose({ alone: false })
    expect(plan?.pipelines.map(({ id }) => id)).toEqual([provider])
    warned.push(...problems.allWarnings.map(({ key }) => `${provider} ${key}`))
  }
  // a token or id of the sender's page, whether deliveries may be late, or have an id
  expect(warned).toEqual([
    "meta verify_token",
    "ms-graph audience",
    "aws-sns provider",
    "gitlab provider",
    "hmac provider",
  ])
  expect(needsKey).toEqual(["discord", "sendgrid", "paypal", "plaid", "telnyx", "wise", "ed25519", "ecdsa"])
})

test("a secret of standard input is written to a file; one that exists is used, and never replaced by another", async () => {
  const at = folder.make("again")
  const secretFile = join(at, "secrets/github")
  const run = (config: string, env: { readonly [name: string]: string }, ...more: readonly string[]) =>
    hookline(["init", "github", "-c", config, ...more], {
      cwd: at,
      env,
      stdin: Buffer.from("obviously-fake-secret\n"),
    })
  expect((await run("a.conf", {}, "--secret-file", "-")).status).toBe(0)
  expect(readFileSync(join(at, "a.conf"), "utf8")).toContain("secret = ${file:secrets/github}\n")
  expect(readFileSync(secretFile, "utf8")).toBe("obviously-fake-secret\n")
  expect((await hookline(["check", "-c", "a.conf"], { cwd: at })).status).toBe(0)

  const kept = await run("b.conf", {})
  expect([kept.status, kept.stdout]).toEqual([0, expect.not.stringContaining("made at random")])
  expect(kept.stdout).toContain(`The secret in ${secretFile}, which existed, is used: `)
  const other = await run("c.conf", { HOOKLINE_SECRET: "another-fake-secret" })
  expect([other.status, other.stderr]).toEqual([
    64,
    expect.stringContaining(`${secretFile} exists with another secret and is not overwritten`),
  ])
  expect(existsSync(join(at, "c.conf"))).toBe(false)
  expect((await run("d.conf", { HOOKLINE_SECRET: "obviously-fake-secret" })).status).toBe(0)
  expect(readFileSync(secretFile, "utf8")).toBe("obviously-fake-secret\n")
})

test("a secret, a key and a file that are given are used", async () => {
  const at = folder.make("given")
  const config = (name: string): string => readFileSync(join(at, `${name}.conf`), "utf8")
  writeFileSync(join(at, "key"), "obviously-fake-secret")
  writeFileSync(join(at, "public"), "ab".repeat(32))
  const run = (name: string, ...args: string[]) =>
    hookline(["init", name, "-c", `${name}.conf`, ...args], {
      cwd: at,
      env: { HOOKLINE_SECRET: name === "mux" ? "obviously-fake" : "" },
    })
  expect((await run("stripe", "--secret-file", "key")).status).toBe(0)
  expect(config("stripe")).toContain("secret = ${file:key}\n")
  expect((await run("discord", "--set", "public_key=@public")).status).toBe(0)
  expect(config("discord")).toContain("public_key = ${file:public}\n")
  expect((await run("mux")).status).toBe(0)
  expect(readFileSync(join(at, "secrets/mux"), "utf8")).toBe("obviously-fake\n")
  expect(existsSync(join(at, "secrets/stripe"))).toBe(false)
  const unknown = await run("nobody")
  expect([unknown.status, unknown.stderr]).toEqual([64, expect.stringContaining("unknown provider nobody")])
  const none = await hookline(["init", "-c", "none.conf"], { cwd: at })
  expect(none.status).toBe(0)
  expect(config("none")).toContain("# Nobody is verified")
})
