import { beforeAll, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { makeSigner, PROVIDER_NAMES } from "../../src/verify/presets/providers.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { folderOfTests } from "../support/hookline.ts"
import { PROGRAM } from "../support/program.ts"

const SECRET = "a-secret-of-nobody"
const NOW_S = 1_790_000_000
const BODY = '{"id":"evt_1","note":"h\u00e9llo","items":[1,2]}'
const hex = (text: string, key: string | Buffer = SECRET): string =>
  createHmac("sha256", key).update(text).digest("hex")
const stripe = (body: string, atS = NOW_S, key = SECRET): string =>
  `Stripe-Signature: t=${atS},v1=${hex(`${atS}.${body}`, key)}`

const folder = folderOfTests()
const bodyFile = join(folder.path, "body")
beforeAll(() => Bun.write(bodyFile, BODY))

/** Runs `hookline verify` as of NOW_S, with the secret from the environment. */
async function verify(args: readonly string[], body: string | Uint8Array = BODY, secret = SECRET) {
  await Bun.write(bodyFile, body)
  return hooklineInProcess(["verify", "--now", String(NOW_S), "--body", bodyFile, ...args], {
    env: { HOOKLINE_SECRET: secret },
  })
}

test.each([
  [
    "another credential",
    "sk_live_51Hexample0000",
    "secret looks like an API key of Stripe; the endpoint's signing secret begins with whsec_",
  ],
])("a secret that looks like %s is told, whether or not it matches", async (_name, secret, expected) => {
  for (const key of [secret, "another"]) {
    const { stdout } = await verify(["-p", "stripe", "-H", stripe(BODY, NOW_S, key)], BODY, secret)
    expect(stdout).toContain(`Warnings\n   ${expected}\n`)
    expect(stdout).not.toContain(secret)
  }
})

test("--set tolerance=0 turns the check of the time off, as in the file", async () => {
  const args = ["-p", "stripe", "-H", stripe(BODY, NOW_S - 86_400)]
  expect((await verify(args)).status).toBe(1)
  expect((await verify([...args, "--set", "tolerance=0"])).status).toBe(0)
})

test("a verified request is explained in steps, with 0", async () => {
  const { status, stdout, stderr } = await verify([
    "-p",
    "stripe",
    "-H",
    stripe(BODY, NOW_S - 12),
    "-H",
    "User-Agent: Stripe/1.0",
  ])
  expect([status, stderr]).toEqual([0, ""])
  const signature = `v1=${hex(`${NOW_S - 12}.${BODY}`)}`
  expect(stdout).toBe(`Stripe: hmac
https://docs.stripe.com/webhooks/signature

1. Received
   POST /
   stripe-signature: t=${NOW_S - 12},${signature}
   also: user-agent
   body: ${Buffer.byteLength(BODY)} bytes, SHA-256 ${new Bun.CryptoHasher("sha256").update(BODY).digest("hex")}

2. Signed
   ${Buffer.byteLength(BODY) + 11} bytes:

   ${NOW_S - 12}.${BODY}

3. Signature
   received  ${signature}  <- matches
   expected  ${signature}  (secret 1)

4. Time
   signed at ${new Date((NOW_S - 12) * 1000).toISOString()}
   checked at ${new Date(NOW_S * 1000).toISOString()}
   12 s old; tolerance 300 s

5. Result
   The request is verified.
   After 503, as when the broker is unavailable, Stripe sends again for 3 days, at growing intervals.
`)
})

test("what was signed is shown with its invisible characters, and what they mean", async () => {
  const body = '\uFEFF{\r\n\t"a":\u00a01} \n'
  const { stdout } = await verify(["-p", "stripe", "-H", stripe(body)], body)
  expect(stdout).toContain(`   ${NOW_S}.⟨BOM⟩{␍␊\n   ␉"a":⟨U+00A0⟩1}·␊\n`)
  expect(stdout).toContain(
    "␊ newline, ␍ carriage return, ␉ tab, · space at a line's end, ⟨BOM⟩ byte-order mark",
  )
})

const once = `X-Hub-Signature-256: sha256=${hex(BODY)}`

describe("the likely mistake of a refused request is named, with 1", () => {
  test.each<[string, string[], string | undefined, string, string]>([
    [
      "a wrong secret",
      ["-p", "stripe", "-H", stripe(BODY, NOW_S, "other")],
      undefined,
      "no_match",
      "belong to another endpoint",
    ],
    ["no header", ["-p", "stripe"], undefined, "missing_header", "The request has no Stripe-Signature."],
    [
      "a stale time",
      ["-p", "stripe", "-H", stripe(BODY, NOW_S - 412)],
      undefined,
      "stale",
      "timestamp 412 s old",
    ],
    [
      "another provider",
      ["-p", "github", "-H", stripe(BODY)],
      undefined,
      "missing_header",
      "matches another preset: stripe",
    ],
  ])("%s", async (_, args, body, reason, mistake) => {
    const { status, stdout, stderr } = await verify(args, body)
    expect([status, stderr]).toEqual([1, ""])
    expect(stdout).toContain(`refused (${reason})`)
    expect(stdout).toContain(mistake)
    expect(stdout).not.toContain(SECRET)
    expect(stdout).toMatch(/ {3}After 401 (?:Stripe sends again for 3 days|GitHub does not send it again)/)
  })

  test("an old request can be checked at its own time, as it says", async () => {
    const at = NOW_S - 86_400
    expect((await verify(["-p", "stripe", "-H", stripe(BODY, at)])).stdout).toContain("set --now")
    await Bun.write(bodyFile, BODY)
    const args = ["verify", "-p", "stripe", "-s", SECRET, "-b", bodyFile, "-H", stripe(BODY, at)]
    expect((await hooklineInProcess([...args, "--now", new Date(at * 1000).toISOString()])).status).toBe(0)
  })
})

test("several secrets: any may match, and each one's signature is shown", async () => {
  const { status, stdout } = await verify([
    "-p",
    "stripe",
    "-s",
    "older",
    "-s",
    "newer",
    "-H",
    stripe(BODY, NOW_S, "newer"),
  ])
  expect(status).toBe(0)
  expect(stdout).toContain("(secret 1)")
  expect(stdout).toContain("(secret 2)")
})

test("the body comes from standard input, the secret from a file", async () => {
  await Bun.write(join(folder.path, "secret"), `${SECRET}\n`)
  const child = Bun.spawn(
    [
      ...PROGRAM,
      "verify",
      "-p",
      "github",
      "--secret-file",
      join(folder.path, "secret"),
      "-b",
      "-",
      "-H",
      `X-Hub-Signature-256: sha256=${hex(BODY)}`,
    ],
    { stdin: Buffer.from(BODY), stdout: "ignore", stderr: "inherit" },
  )
  expect(await child.exited).toBe(0)
})

test("a pasted request is read from standard input, and its sender found by its headers", () => {
  const pasted = `POST /in HTTP/1.1\r\nHost: h.example\r\n${stripe(BODY)}\r\n\r\n${BODY}\n`
  const at = ["--now", String(NOW_S)]
  for (const [secret, expected] of [
    [SECRET, 0],
    ["another-secret", 1],
  ] as const) {
    const { exitCode, stdout } = Bun.spawnSync(["bin/hookline", "verify", "-", ...at], {
      stdin: Buffer.from(pasted),
      env: { ...process.env, HOOKLINE_SECRET: secret },
    })
    expect([exitCode, stdout.toString()]).toEqual([
      expected,
      expect.stringMatching(/^Stripe: hmac\n[^]*POST \/in\n/),
    ])
  }
})

test("a token is not shown, right or wrong, and needs no body", async () => {
  const judge = (token: string) =>
    hooklineInProcess(["verify", "-p", "gitlab", "-H", `X-Gitlab-Token: ${token}`], {
      env: { HOOKLINE_SECRET: SECRET },
    })
  for (const [token, expected] of [
    [SECRET, 0],
    ["another-secret", 1],
  ] as const) {
    const { status, stdout } = await judge(token)
    expect(status).toBe(expected)
    expect(stdout).toContain(`(${token.length} characters)`)
    expect(stdout).not.toContain(token)
    expect(stdout).not.toContain("body is empty")
  }
})

test("the words of the diagnosis have no gap that reveals a secret", async () => {
  const { stdout } = await verify(["-p", "github", "-H", once], BODY, "another")
  expect(stdout).toContain("The secret may belong to another endpoint")
  expect(stdout).not.toContain("[secret]")
})

test("neither a password nor its header is shown, nor a token in a query", async () => {
  const basic = Buffer.from(`u:${SECRET}`).toString("base64")
  const password = await hooklineInProcess([
    "verify",
    "-p",
    "chargebee",
    "--set",
    "username=u",
    "--set",
    `password=${SECRET}`,
    "-H",
    `Authorization: Basic ${basic}`,
  ])
  const query = await hooklineInProcess([
    "verify",
    "-p",
    "token",
    "-s",
    SECRET,
    "--set",
    "query=key",
    "-u",
    `https://h.example/in?key=${SECRET}`,
  ])
  for (const { status, stdout } of [password, query]) {
    expect(status).toBe(0)
    expect(stdout).not.toContain(SECRET)
    expect(stdout).not.toContain(basic)
  }
})

test("public keys are read from files, settings of generic kinds from --set", async () => {
  const { privateKey, publicKey } = await keyPair()
  await Bun.write(join(folder.path, "key.pem"), publicKey)
  const signer = makeSigner("ed25519", { secret: [privateKey], header: "X-Sig", encoding: "base64" })
  const headers = new Headers()
  const unsigned = { method: "POST", url: "https://h.example/", headers, body: Buffer.from(BODY), id: "1" }
  const { headers: signed } = await signer.sign(unsigned, NOW_S * 1000)
  const args = ["-p", "ed25519", "--public-key", join(folder.path, "key.pem"), "--set", "header=X-Sig"]
  const { status, stdout } = await verify([
    ...args,
    "--set",
    "encoding=base64",
    "-H",
    `X-Sig: ${signed.get("X-Sig")}`,
  ])
  expect(status).toBe(0)
  expect(stdout).toContain("unknown: a public key")
})

async function keyPair(): Promise<{ privateKey: string; publicKey: string }> {
  const { generateKeyPairSync } = await import("node:crypto")
  return generateKeyPairSync("ed25519", {
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
}

test("--list shows every provider with its scheme, needs and documentation", async () => {
  const { status, stdout } = await hooklineInProcess(["verify", "--list"])
  expect(status).toBe(0)
  const rows = stdout.trim().split("\n").slice(1)
  expect(rows.map((row) => row.split(" ", 1)[0]!)).toEqual([...PROVIDER_NAMES])
  expect(rows.find((row) => row.startsWith("gcp-pubsub"))).toMatch(
    /^gcp-pubsub +jwt +audience and email +https:\/\/cloud\.google\.com\/pubsub\//,
  )
})

test("--list --json has what the presets know, of every provider", async () => {
  const { status, stdout } = await hooklineInProcess(["verify", "--list", "--json"])
  expect(status).toBe(0)
  const list = JSON.parse(stdout) as { name: string }[]
  expect(list.map(({ name }) => name)).toEqual([...PROVIDER_NAMES])
  expect(list.find(({ name }) => name === "stripe")).toMatchObject({
    title: "Stripe",
    scheme: "hmac",
    requires: [["secret"]],
    may_have: ["tolerance"],
    tolerance_ms: 300_000,
    signs: { body: "whole", time: true, id: false },
    signs_url: false,
    can_send: true,
    event: { id: "json:/id", type: "json:/type", time: "json:/created" },
    docs: "https://docs.stripe.com/webhooks/signature",
  })
  expect(list.find(({ name }) => name === "paypal")).toMatchObject({ can_send: false })
  expect(list.find(({ name }) => name === "token")).not.toHaveProperty("event")
})

test.each<[string, string[], string]>([
  ["no provider", [], "--pipeline or --provider is missing"],
  ["a provider that there is none of", ["-p", "githib"], "did you mean github?"],
  ["a secret that is missing", ["-p", "github"], "github requires secret"],
  [
    "a secret of a wrong form",
    ["-p", "svix", "-s", "tot/ally!"],
    "secret: has the wrong form; expected whsec_ and base64",
  ],
  [
    "a secret of the right form with a space",
    ["-p", "svix", "-s", "whsec_c2VjcmV0 "],
    "white space around it",
  ],
  ["no body", ["-p", "github", "-s", "x"], "--body is missing"],
  ["a header without a colon", ["-p", "gitlab", "-s", "x", "-H", "X-Gitlab-Token"], "'Name: value'"],
  ["a key that there is none of", ["-p", "gitlab", "--set", "secert=x"], "did you mean secret?"],
  ["a tolerance without a unit", ["-p", "slack", "--set", "tolerance=5"], "a duration such as"],
  [
    "an encoding that there is none of",
    ["-p", "hmac", "--set", "encoding=base32"],
    "not one of hex, base64, base64url",
  ],
  ["a time that is none", ["-p", "gitlab", "-s", "x", "--now", "yesterday"], "RFC 3339"],
  ["a URL that is none", ["-p", "gitlab", "-s", "x", "-u", "/in"], "not an http or https URL"],
  ["a flag that there is none of", ["--providr", "x"], "unknown option"],
])("%s is a wrong command line: 64", async (_, args, message) => {
  const { status, stdout, stderr } = await hooklineInProcess(["verify", ...args], {
    env: { HOOKLINE_SECRET: "" },
  })
  expect([status, stdout]).toEqual([64, ""])
  expect(stderr).toContain(message)
  for (const secret of ["tot/ally!", "c2VjcmV0"]) expect(stderr).not.toContain(secret)
})

test("a body that can't be read is 66", async () => {
  const { status, stderr } = await hooklineInProcess([
    "verify",
    "-p",
    "github",
    "-s",
    "x",
    "-b",
    "/no/such/file",
  ])
  expect(status).toBe(66)
  expect(stderr).toContain("/no/such/file")
})

test("--help says where secrets end up", async () => {
  const { status, stdout } = await hooklineInProcess(["verify", "--help"])
  expect(status).toBe(0)
  expect(stdout).toContain("history")
  expect(stdout).toContain("HOOKLINE_SECRET")
})
