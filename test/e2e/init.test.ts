import { expect, test } from "bun:test"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { PROVIDER_NAMES } from "../../src/verify/presets/providers.ts"
import { init } from "../../src/commands/init.ts"
import { Application } from "../../src/index.ts"
import { folderOfTests, hookline, startHookline } from "../support/hookline.ts"

const folder = folderOfTests()

test("a file for GitHub passes check, accepts what its secret signs, and is not written again", async () => {
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
  await running.stop()
  writeFileSync(file, before)
  const again = await hookline(["init", "stripe"], { cwd: at })
  expect([again.status, again.stderr]).toEqual([64, expect.stringContaining("exists and is not overwritten")])
  expect(readFileSync(file, "utf8")).toBe(before)
  expect(existsSync(join(at, "secrets/stripe"))).toBe(false)
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
