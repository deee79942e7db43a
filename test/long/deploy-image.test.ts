import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { chown } from "node:fs/promises"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { DEPLOY_TOOLS, hasDeployTools } from "../support/deploy-tools.ts"
import { ROOT } from "../support/documents.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { buildImage, canBuildImages, inContainer, type Image } from "../support/image.ts"
import { freePorts } from "../support/ports.ts"

setDefaultTimeout(300_000)

test.skipIf(!(await hasDeployTools()))("hadolint finds nothing in the Dockerfile", async () => {
  const checked = await runToEnd(["hadolint", join(ROOT, "deploy/Dockerfile")], { env: DEPLOY_TOOLS })
  expect(checked).toEqual({ status: 0, stdout: "", stderr: "" })
})

describe.skipIf(!canBuildImages())("the image", () => {
  const folder = temporaryFolder()
  let image: Image
  beforeAll(async () => {
    image = await buildImage(folder.path)
  })
  afterAll(async () => {
    await image[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test("has the executable, the C library and licences, and nothing else", () => {
    const { root } = image
    expect(readdirSync(join(root, "usr/local/bin"))).toEqual(["hookline"])
    const files = [...new Bun.Glob("**/*").scanSync({ cwd: root, dot: true, followSymlinks: false })]
    expect(
      files.filter(
        (file) =>
          !/(^|\/)(hookline|lib[\w-]+\.so\.\d|ld-[\w-]+\.so\.\d|LICENSE|THIRD-PARTY-NOTICES\.md)$/.test(file),
      ),
    ).toEqual([])
  })

  test("takes an event with a read-only root as a numbered user and a module of --components, is healthy, and ends by its stop signal", async () => {
    const { config } = image
    expect(config.User).toMatch(/^[1-9]\d+:[1-9]\d+$/)
    expect(Object.keys(config.ExposedPorts)).toEqual(["8080/tcp", "9464/tcp"])
    const [port, admin] = await freePorts(2)
    const [etc, data] = [folder.make("etc"), folder.make("data")]
    await Bun.write(join(etc, "redact.ts"), Bun.file(join(ROOT, "examples/components/redact.ts")))
    await chown(data, ...(config.User.split(":").map(Number) as [number, number]))
    const folders = { "/etc/hookline": etc, "/var/lib/hookline": data }
    const env = Object.fromEntries(config.Env.map((it) => it.split(/=(.*)/s) as [string, string]))
    const configuration = `[connection:log]
directory = /var/lib/hookline/log
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
[pipeline:webhooks:Redact]
members = card
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = 127.0.0.1:${admin}
`
    const components = ["--components", "/etc/hookline/redact.ts"]
    await using running = await startHookline(configuration, {
      folder: etc,
      env,
      command: inContainer(image, folders, [...config.Entrypoint, ...config.Cmd, ...components]),
    })
    const body = '{"n":1,"card":"4242"}'
    const answer = await fetch(`http://127.0.0.1:${port}/webhook`, { method: "POST", body })
    expect(answer.status).toBe(200)
    expect(await (await fetch(`http://127.0.0.1:${admin}/`)).text()).toStartWith("<!doctype html>")
    const within = (...command: string[]) =>
      runToEnd(endingWithThisProcess(...inContainer(image, folders, command)), { env })
    expect(config.Healthcheck.Test[0]).toBe("CMD")
    expect(await within(...config.Healthcheck.Test.slice(1))).toMatchObject({ status: 0, stdout: "ok\n" })
    expect(await within(...config.Entrypoint, "tail", "webhooks")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('{"n":1,"received_at"'),
    })
    running.signal(config.StopSignal as NodeJS.Signals)
    expect(await running.exited).toBe(0)
    expect((await within(...config.Healthcheck.Test.slice(1))).status).not.toBe(0)
  })
})
