import { expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { Application, embeddedConnection } from "../../src/index.ts"
import { folderOfTests } from "../support/hookline.ts"

const root = join(import.meta.dir, "../..")
const folder = folderOfTests()
const servers = readdirSync(join(root, "examples/servers")).filter((it) => it !== "application.ts")

/** Posts from an address of this machine. @returns the status */
function postFrom(localAddress: string, url: string, body: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const sent = request(url, { method: "POST", localAddress, family: 4 }, (answer) => {
    answer.resume()
    resolve(answer.statusCode)
  })
  sent.on("error", reject)
  sent.end(body)
  return promise
}

test.each(servers)(
  "examples/servers/%s publishes what an allowed address sends, and refuses others",
  async (name) => {
    const directory = folder.make(name)
    await using server = Bun.spawn([process.execPath, `examples/servers/${name}`, "0", directory], {
      cwd: root,
      stdout: "pipe",
      stderr: "inherit",
    })
    let output = ""
    for await (const bytes of server.stdout) {
      output += Buffer.from(bytes).toString()
      if (/^http\S+\n/m.test(output)) break
    }
    const url = new URL("webhook", /^http\S+$/m.exec(output)![0]).href
    expect(await postFrom("127.0.0.1", url, '{"n":1}')).toBe(200)
    expect(await postFrom("127.0.0.1", url, "no JSON")).toBe(400)
    expect(await postFrom("127.0.0.2", url, '{"n":2}')).toBe(403)
    server.kill("SIGTERM")
    expect(await server.exited).toBe(0)
    const reading = new Application()
    const log = reading.registerConnection("log", embeddedConnection({ directory }))
    const values: unknown[] = []
    for await (const { value } of reading.read(log, "webhooks"))
      values.push((JSON.parse(Buffer.from(value).toString()) as { n: unknown }).n)
    expect(values).toEqual([1])
  },
)
