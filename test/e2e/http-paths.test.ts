import { expect, test } from "bun:test"
import { temporaryFolder } from "../support/hookline.ts"
import { DISGUISES, serveAt, statusOf } from "../support/disguised-paths.ts"
import { serve } from "../support/http-server.ts"
import { freePort } from "../support/ports.ts"
import { problemsIn } from "../support/problems-in.ts"
import { Random } from "../support/random.ts"

test("the path of a pipeline is matched byte for byte: no other spelling of it is", async () => {
  await using it = serveAt(await freePort(), ["/private"])
  for (const target of DISGUISES) {
    const status = await statusOf(it.port, target)
    expect([target, [400, 404, 505].includes(status)]).toEqual([target, true])
  }
  expect(it.taken).toEqual([])
  expect(await statusOf(it.port, "/private")).toBe(200)
  expect(await statusOf(it.port, "/private?a=/../b")).toBe(200)
  // the absolute form, which every server has to take (RFC 9112, 3.2.2)
  expect(await statusOf(it.port, "http://other/private")).toBe(200)
  expect(it.taken).toHaveLength(3)
})

test("next to a prefix a path is still matched byte for byte, and the prefix has what is below it as it was sent", async () => {
  await using it = serveAt(await freePort(), ["/private", "/hooks/*", "/*"])
  for (const target of DISGUISES) await statusOf(it.port, target)
  expect(it.taken.filter(({ route, path }) => route === "/private" || path === "/private")).toEqual([])
  // what is its own normal form is the prefix's
  const own = it.taken.map(({ path }) => path).filter((path) => path !== "/")
  expect(own).toEqual(DISGUISES.filter((target) => own.includes(target)))
})

test.each([
  "/hooks/",
  "/hooks/a",
  "/hooks/a/",
  "/hooks/a/b/c/d/e/f/g/h",
  "/hooks/a.b",
  "/hooks/.well-known",
  "/hooks/...",
  "/hooks/a%2Fb",
  "/hooks/a%2fb",
  "/hooks/caf%C3%A9",
  "/hooks/a;b=c",
  "/hooks/:a",
  "/hooks/*",
  "/hooks/a+b,c=d&e@f!g$h'(i)~j_k-l|m",
])("below a prefix %s is taken, by that path", async (target) => {
  await using it = serveAt(await freePort(), ["/hooks/*"])
  expect(await statusOf(it.port, `${target}?q=1`)).toBe(200)
  expect(it.taken).toEqual([{ route: "/hooks/*", path: target }])
})

test.each([
  "/hooks/../hooks/a",
  "/hooks/a/../b",
  "/hooks/./a",
  "/hooks/%2e%2e/hooks/a",
  "/hooks/%2E/a",
  "/hooks\\a",
  "/hooks/a\\b",
  "/hooks//a",
  "/hooks/a//b",
  "/hooks/a//",
  "/hooks/a#b",
  "/hooks/%zz",
  "/hooks/%",
  "/hooks/%ff",
  "/x/../hooks/a",
  `/hooks/${"a/".repeat(32)}`,
])("below a prefix %s is answered 404: proxies and URL parsers read it in other ways", async (target) => {
  await using it = serveAt(await freePort(), ["/hooks/*"])
  expect(await statusOf(it.port, target)).toBe(404)
  expect(it.taken).toEqual([])
})

const PIECES = [
  "/",
  "/",
  "/",
  ".",
  "..",
  "%2e",
  "%2E%2e",
  "\\",
  "%5c",
  "%2f",
  "a",
  "hooks",
  "private",
  ";",
  ":x",
  "%41",
  "#",
  "%",
]

test("of targets made of what is special in paths, those are accepted that a URL parser leaves as they are", async () => {
  await using it = serveAt(await freePort(), ["/private", "/hooks/*", "/*", "/hooks/private"])
  const random = new Random(7)
  const found = { taken: 0, refused: 0 }
  for (let n = 0; n < 2000; n++) {
    const path = `/${Array.from({ length: random.below(8) }, () => random.pick(PIECES)).join("")}`
    const status = await statusOf(it.port, path)
    const [last] = it.taken.slice(-1)
    const isNormal = new URL(`http://host${path}`).pathname === path
    if (status !== 200) {
      found.refused++
      // empty segments and escapes of nothing are refused too
      expect([path, isNormal && !/\/\/|%(?![0-9a-f]{2})/i.test(path)]).toEqual([path, false])
    } else {
      found.taken++
      expect([path, isNormal, last!.path]).toEqual([path, true, path])
    }
  }
  expect(Math.min(found.taken, found.refused)).toBeGreaterThan(200)
})

test.each(["/x/../private", "/./private", "/%2E%2e/private", "/hooks/..", "/a\\b", "/hooks/../*"])(
  "a pipeline can't have the path %s: no request could reach it",
  async (path) => {
    using folder = temporaryFolder()
    const file = `${folder.path}/pipelines.conf`
    const source = `[connection:log]\ndirectory = data\n[pipeline:a:WebHookSource]\npath = ${path}\n`
    await Bun.write(file, `${source}[pipeline:a:BrokerSink]\ntopic = a\n`)
    expect(problemsIn(file)).toContain("path: ")
  },
)

test("the log says why a path that seems to be there was not found", async () => {
  await using it = serve({ path: "/private" })
  expect(await statusOf(it.port, "/x/../private")).toBe(404)
  expect(await statusOf(it.port, "/elsewhere")).toBe(404)
  expect(it.log).toMatchObject([
    { reason: "path_not_normal", status: 404, path: "/private" },
    { reason: "unknown_path", status: 404, path: "/elsewhere" },
  ])
})

test.each([
  "/:name",
  "/hooks/:name",
  "/a//b",
  "//a",
  "/",
  "/a/",
  "/caf\u00e9",
  "/a%2Fb",
  "/a b".replace(" ", "%20"),
])("a pipeline can have the path %s, and has no other one by it", async (path) => {
  await using it = serveAt(await freePort(), [path])
  const sent = path.replace("\u00e9", "%C3%A9")
  expect(await statusOf(it.port, sent)).toBe(200)
  for (const other of ["/x", "/hooks/x", "/a/b", "/a/x", "/a", "/b", "/caf%c3%a9", "/a%2fb", "//", "/a%20c"])
    if (other !== sent) expect([other, await statusOf(it.port, other)]).toEqual([other, 404])
  expect(it.taken).toHaveLength(1)
})

test("of hundreds of pipelines on a port each is found by its own path alone", async () => {
  const paths = Array.from({ length: 300 }, (_, n) => `/team-${n}/hooks`)
  await using it = serveAt(await freePort(), paths)
  for (const path of paths) expect(await statusOf(it.port, path)).toBe(200)
  expect(it.taken).toEqual(paths.map((path) => ({ route: path, path })))
  expect(await statusOf(it.port, "/team-1/../team-2/hooks")).toBe(404)
  expect(await statusOf(it.port, "/team-300/hooks")).toBe(404)
})

test.each([
  ["two that differ", ["Host: localhost", "Host: other"]],
  ["two that are equal", ["Host: localhost", "host: localhost"]],
  ["one that lists two", ["Host: localhost, other"]],
])("Host headers, %s, are answered 400", async (_name, headers) => {
  await using it = serve()
  expect(await statusOf(it.port, "/webhook", headers)).toBe(400)
  expect(it.events).toHaveLength(0)
})
