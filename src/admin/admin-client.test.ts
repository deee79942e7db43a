import { expect, test } from "bun:test"
import { AdminClient, ANSWER_MS } from "./admin-client.ts"

test("another replica has a second to answer, and longer to explain a request", async () => {
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch({ url }) {
      await Bun.sleep(ANSWER_MS + 200)
      return Response.json({ path: new URL(url).pathname })
    },
  })
  const client = new AdminClient(server.url.origin, "obviously-fake")
  const explained: object = await client.explain("captures/1")
  expect(explained).toEqual({ path: "/api/captures/1/explanation" })
  await expect(client.ask("captures/1")).rejects.toMatchObject({ code: "unavailable" })
})
