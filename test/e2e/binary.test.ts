import { describe, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { Binary } from "../support/binary.ts"
import { startHookline, folderOfTests } from "../support/hookline.ts"
import { hasOtlpReceiver, startOtlpReceiver } from "../support/otlp-receiver.ts"

const folder = folderOfTests()
const binary = Binary.build(folder.path)
const canReceive = await hasOtlpReceiver()

describe("the command line as one compiled file", () => {
  test("prints its version", () => {
    expect(binary.run("--version").trim()).toBe(manifest.version)
  })

  test("publishes to an embedded log, whose thread it finds", async () => {
    expect(await binary.publishAndRead("[connection:log]\ndirectory = data", "embedded")).toEqual([1, 2, 3])
  })

  test.skipIf(!canReceive)("traces to a collector", async () => {
    await using receiver = await startOtlpReceiver()
    const traces = `[traces]\nendpoint = ${receiver.endpoint}`
    expect(await binary.publishAndRead("[connection:log]\ndirectory = data", "traced", traces)).toEqual([
      1, 2, 3,
    ])
    expect(receiver.spans().map(({ kind }) => kind)).toEqual([
      "PRODUCER",
      "SERVER",
      "PRODUCER",
      "SERVER",
      "PRODUCER",
      "SERVER",
    ])
  })

  test("signs tokens for Amazon MSK, with what it loads for that alone", async () => {
    const file = join(folder.make("msk"), "pipelines.conf")
    await Bun.write(
      file,
      `[connection:kafka]
bootstrap_servers = 127.0.0.1:1
security_protocol = sasl_ssl
sasl_mechanism = AWS_MSK_IAM
sasl_aws_region = eu-west-1
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
`,
    )
    const env = { AWS_ACCESS_KEY_ID: "AKIAOBVIOUSLYFAKE", AWS_SECRET_ACCESS_KEY: "obviously-fake" }
    const { stdout } = Bun.spawnSync([binary.file, "check", "--connect", "-c", file], { env })
    expect(stdout.toString().split("\n")).toEqual(
      expect.arrayContaining([
        "connection kafka: AWS credentials (eu-west-1): a token for 900 s",
        "connection kafka: 127.0.0.1:1 can't be used: connection refused",
      ]),
    )
  })

  test("has the admin page and all that it loads", async () => {
    const running = await startHookline(
      `[connection:log]
directory = data
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = 127.0.0.1:0`,
      { folder: folder.make("page"), program: [binary.file] },
    )
    const page = await fetch(`${running.adminUrl}/`)
    expect(page.headers.get("content-type")).toStartWith("text/html")
    const loaded = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!)
    expect(loaded.some((path) => path.endsWith(".js"))).toBe(true)
    for (const path of loaded.filter((it) => !/^(?:data:|#)/.test(it))) {
      const { status, headers } = await fetch(new URL(path, running.adminUrl))
      expect([path, status, headers.get("cache-control")]).toEqual([
        path,
        200,
        expect.stringContaining("immutable"),
      ])
    }
    expect(await (await fetch(`${running.adminUrl}/api/overview`)).json()).toMatchObject({
      pipelines: [{ id: "webhooks" }],
    })
    expect(await running.stop()).toBe(0)
  })

  test("is what a module of --components imports as hookline, whatever is installed beside the module", async () => {
    const here = folder.make("components")
    await Bun.write(join(here, "node_modules/hookline/index.js"), 'throw new Error("another one was loaded")')
    const module = `import { defineComponent, Rejected } from "hookline"
export const refuse = defineComponent({
  kind: "processor", name: "Refuse", summary: "", options: {},
  create: () => (): Rejected => new Rejected(422, "refused", "It is refused."),
})`
    await Bun.write(join(here, "refuse.ts"), module)
    const text =
      "[connection:log]\ndirectory = data\n[pipeline:hooks:WebHookSource]\n[pipeline:hooks:Refuse]\n[pipeline:hooks:BrokerSink]\ntopic = hooks"
    const args = ["--components", "refuse.ts"]
    await using running = await startHookline(text, { folder: here, program: [binary.file], args })
    expect((await fetch(running.urls["hooks"]!, { method: "POST", body: "{}" })).status).toBe(422)
  })

  test("reads nothing of the folder that it is started in", async () => {
    const other = join(folder.path, "other")
    mkdirSync(other)
    await Bun.write(join(other, "bunfig.toml"), 'preload = ["./evil.ts"]')
    await Bun.write(join(other, "evil.ts"), 'console.log("executed")')
    await Bun.write(join(other, ".env"), "HOOKLINE_CONFIG=/nowhere.conf")
    const { stdout, stderr } = Bun.spawnSync([binary.file, "check"], { cwd: other, env: {} })
    expect(stdout.toString() + stderr.toString()).not.toMatch(/executed|nowhere/)
  })
})
