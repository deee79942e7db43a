import { expect, test } from "bun:test"
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { Writable } from "node:stream"
import { pino } from "pino"
import { componentContext } from "../../../test/support/component-context.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { serve } from "../../../test/support/http-server.ts"
import { addressFilter } from "./allow.ts"
import { PublishedAddresses } from "./published-addresses.ts"

const HOUR = 3_600_000
const A = ["192.0.2.0/25", "198.51.100.0/24", "2001:db8::/32", "203.0.113.7"]
const listed = (hooks: unknown): Response =>
  Response.json({ verifiable_password_authentication: false, hooks })

/** GitHub's meta API, which gives one answer after another, and the last one for ever. */
function standIn(...answers: readonly (() => Response)[]) {
  let asked = 0
  const waiting: { readonly times: number; readonly resolve: () => void }[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      const answer = answers[Math.min(asked++, answers.length - 1)]!
      for (const { times, resolve } of waiting) if (asked > times) resolve()
      return answer()
    },
  })
  return {
    list: { urls: [`http://127.0.0.1:${server.port}/meta`], at: ["hooks"] },
    /** Resolves once an answer has taken effect: with the request after it. */
    hasAnswered(times: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (asked > times) resolve()
      else waiting.push({ times, resolve })
      return promise
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

function logged() {
  const lines: { readonly [key: string]: unknown }[] = []
  const write = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(String(line)) as (typeof lines)[number])
      done()
    },
  })
  return { lines, log: pino(write) }
}

/** Addresses fetched from a stand-in, hour after hour by their clock; the hours pass at once. */
function fetched(list: ReturnType<typeof standIn>["list"], directory: string, hours = 1) {
  const { log, lines } = logged()
  let nowMs = 1_790_000_000_000
  const options = { list, directory, log, fetch, everyMs: 1, retryMs: 1, now: () => (nowMs += hours * HOUR) }
  const addresses = new PublishedAddresses({ provider: "github", ...options })
  return { addresses, lines, options, [Symbol.asyncDispose]: () => addresses.close() }
}

const tooMany = Array.from({ length: 1001 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`)

test.each<[string, () => Response, string]>([
  ["empty", () => listed([]), "is empty"],
  ["shrunk", () => listed(A.slice(0, 1)), "has 1 networks and the last one had 4, so it is not used"],
  ["of the whole Internet", () => listed([...A, "0.0.0.0/0"]), "has 0.0.0.0/0, which is too wide"],
  ["of all of IPv6", () => listed([...A, "2000::/3"]), "has 2000::/3, which is too wide"],
  ["with a name", () => listed([...A, "github.com"]), "neither an address nor a network"],
  ["with a number", () => listed([...A, 7]), "neither an address nor a network"],
  ["of too many", () => listed(tooMany), "has more than 1000 networks"],
  ["in another member", () => Response.json({ web: A }), "has no hooks"],
  ["null", () => Response.json(null), "has no hooks"],
  ["a page", () => new Response("<html>maintenance</html>"), "is no JSON"],
  ["429", () => new Response("slow down", { status: 429 }), "HTTP 429"],
  ["5 MB", () => new Response(" ".repeat(5_000_000)), "larger than 4194304 bytes"],
  ["elsewhere", () => Response.redirect("http://127.0.0.1:1/"), "edirect"],
])("a list that is %s is not used, and the last good one stays", async (_name, answer, reason) => {
  using folder = temporaryFolder()
  await using github = standIn(() => listed(A), answer)
  await using it = fetched(github.list, folder.path)
  await github.hasAnswered(3)
  expect(
    ["192.0.2.1", "203.0.113.7", "10.0.1.1", "2001:db9::1"].map((address) => it.addresses.allows(address)),
  ).toEqual([true, true, false, false])
  const told = it.lines.filter(({ level }) => level === 40)
  expect(told).toMatchObject([
    {
      provider: "github",
      networks: 4,
      reason: expect.stringContaining(reason),
      msg: expect.stringContaining("stay allowed"),
    },
  ])
})

test("a network that is added is allowed at once, one that is no longer listed for a week", async () => {
  using folder = temporaryFolder()
  await using github = standIn(
    () => listed(A),
    () => listed([...A.slice(1), "192.0.2.128/25"]),
  )
  await using it = fetched(github.list, folder.path, 24)
  await github.hasAnswered(2)
  expect(["192.0.2.1", "192.0.2.129"].map((address) => it.addresses.allows(address))).toEqual([true, true])
  await github.hasAnswered(10)
  expect(["192.0.2.1", "192.0.2.129"].map((address) => it.addresses.allows(address))).toEqual([false, true])
})

test("the last good list is kept on disk, and used while none can be fetched", async () => {
  using folder = temporaryFolder()
  const directory = join(folder.path, "lists")
  {
    await using github = standIn(() => listed(A))
    await using _ = fetched(github.list, directory)
    await github.hasAnswered(1)
  }
  const file = join(directory, "github.json")
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(Object.keys((JSON.parse(readFileSync(file, "utf8")) as { networks: object }).networks)).toEqual(A)
  await using down = standIn(() => new Response("", { status: 500 }))
  await using it = fetched(down.list, directory)
  expect([it.addresses.allows("192.0.2.1"), it.addresses.allows("192.0.2.200")]).toEqual([true, false])
  await down.hasAnswered(2)
  expect(it.addresses.allows("192.0.2.1")).toBe(true)
})

test("a list that another process has fetched is not fetched again", async () => {
  using folder = temporaryFolder()
  await using github = standIn(() => listed(A))
  await using first = fetched(github.list, folder.path)
  await github.hasAnswered(1)
  await first.addresses.close()
  let fetches = 0
  const { promise: looked, resolve } = Promise.withResolvers<void>()
  const second = new PublishedAddresses({
    ...first.options,
    provider: "github",
    everyMs: 365 * 24 * HOUR,
    now() {
      resolve()
      return first.options.now()
    },
    fetch: () => Promise.reject(new Error(`fetch ${++fetches}`)),
  })
  expect(second.allows("192.0.2.1")).toBe(true)
  await looked
  await second.close()
  expect(fetches).toBe(0)
})

test("a damaged file is fetched again", async () => {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, "github.json"), '{"networks": {"everyw')
  await using github = standIn(() => listed(A))
  await using it = fetched(github.list, folder.path)
  expect(it.addresses.allows("192.0.2.1")).toBeUndefined()
  await github.hasAnswered(1)
  expect(it.addresses.allows("192.0.2.1")).toBe(true)
})

test.each<[string, string, string[], string[]]>([
  ["stripe", "3.18.12.63\n3.130.192.231\n", ["3.18.12.63"], ["3.18.12.64"]],
  [
    "bitbucket",
    JSON.stringify({
      items: [
        { cidr: "104.192.136.0/21", product: ["bitbucket", "jira"], direction: ["egress", "ingress"] },
        { cidr: "18.1.0.0/16", product: ["bitbucket"], direction: ["ingress"] },
        { cidr: "18.2.0.0/16", product: ["jira"], direction: ["egress"] },
      ],
    }),
    ["104.192.136.1"],
    ["18.1.0.1", "18.2.0.1"],
  ],
  [
    "paddle",
    JSON.stringify({ data: { ipv4_cidrs: ["34.232.58.13/32"] } }),
    ["34.232.58.13"],
    ["34.232.58.14"],
  ],
])(
  "%s: its list is read as it is published, next to addresses that are named",
  async (provider, body, yes, no) => {
    using folder = temporaryFolder()
    const { promise: used, resolve } = Promise.withResolvers<void>()
    const closes: (() => unknown)[] = []
    const { log } = logged()
    const { allows, problem } = addressFilter(
      { allow: [`provider:${provider}`, "127.0.0.0/8"], allow_mode: "enforce", allow_directory: folder.path },
      componentContext({
        log: Object.assign(log, { info: () => resolve() }),
        acquire: ({ open, close }) => {
          const opened = open()
          closes.push(() => close?.(opened, 0))
          return opened
        },
      }),
      { fetch: () => Promise.resolve(new Response(body)) },
    )
    expect([allows!(yes[0]!), allows!("127.0.0.1")]).toEqual([undefined, true])
    expect(problem!()).toBe(`the addresses of ${provider} are not known yet`)
    await used
    expect(problem!()).toBeUndefined()
    expect([...yes, ...no].map((address) => allows!(address))).toEqual([
      ...yes.map(() => true),
      ...no.map(() => false),
    ])
    for (const close of closes) await close()
  },
)

test("while no list is known other addresses get 503, so that their sender sends again", async () => {
  await using it = serve({ allows: () => undefined })
  const answer = await fetch(`${it.url}/webhook`, { method: "POST", body: "{}" })
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"])
  expect(it.log).toMatchObject([{ reason: "addresses_unknown", remote_address: "127.0.0.1" }])
})

test("with allow_mode = observe other addresses pass, with a line", () => {
  const { lines, log } = logged()
  const values = { allow: ["192.0.2.0/24"], allow_mode: "observe", allow_directory: undefined } as const
  const { allows } = addressFilter(values, componentContext({ log }))
  expect([allows!("192.0.2.1"), allows!("198.51.100.1")]).toEqual([true, true])
  expect(lines.slice(1)).toMatchObject([
    {
      level: 40,
      reason: "address_not_allowed",
      remote_address: "198.51.100.1",
      msg: "address not in allow; passes",
    },
  ])
})
