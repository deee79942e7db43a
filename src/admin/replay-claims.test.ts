import { expect, test } from "bun:test"
import { AdminClient } from "./admin-client.ts"
import { ReplayClaims } from "./replay-claims.ts"

/** A claim where another replica is at this URL. */
async function claimNextTo(url: string): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const client = new AdminClient(url, "obviously-fake-token")
  const other = { name: "other", client, overview: undefined, problem: undefined, activity: undefined }
  await new ReplayClaims("this", () => undefined).claim("key", [other], opened)
}

test("no replay begins while a replica that accepts connections does not say whether it runs the same", async () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  await using silent = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => promise })
  const broken = Response.json({ detail: "broken" }, { status: 500 })
  await using failing = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => broken })
  const problemAt = (url: string): Promise<unknown> =>
    claimNextTo(url).then(
      () => "it began",
      (error: Error) => error.message,
    )
  const problem = "replica other does not say whether it runs this replay: "
  expect(await problemAt(silent.url.origin)).toStartWith(`${problem}no answer: `)
  expect(await problemAt(failing.url.origin)).toBe(`${problem}broken; try again`)
  resolve(new Response())
})

test("a replica that has ended holds up no replay", async () => {
  const ended = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  const url = ended.url.origin
  await ended.stop(true)
  await claimNextTo(url)
})
