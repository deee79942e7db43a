import { describe, expect, test } from "bun:test"
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { runToEnd } from "../support/child.ts"
import { DEPLOY_TOOLS, hasDeployTools } from "../support/deploy-tools.ts"
import { PLAIN_ADMIN } from "../support/deployed.ts"
import { blocksOf, ROOT } from "../support/documents.ts"
import { hookline, temporaryFolder } from "../support/hookline.ts"
import { canStartKafka } from "../support/kafka.ts"
import { kafkaClassPath, VERSION } from "../support/kafka-jars.ts"

const DEPLOY = join(ROOT, "deploy")
/** What a stop takes at most where `[service]` says nothing else. */
const DRAIN_TIMEOUT_S = 20

interface Service {
  readonly image: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly volumes: readonly {
    readonly source: string
    readonly target: string
    readonly read_only?: boolean
  }[]
  readonly secrets: readonly { readonly source: string; readonly target: string }[]
  readonly healthcheck: { readonly test: readonly string[] }
  readonly stop_grace_period: string
  readonly environment: { readonly [name: string]: string }
}

/** What compose makes of the file. */
async function composed(): Promise<{ hookline: Service; kafka: Service }> {
  const command = ["docker-compose", "-f", join(DEPLOY, "compose.yaml"), "config", "--format", "json"]
  const { status, stdout, stderr } = await runToEnd(command, { env: DEPLOY_TOOLS })
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  return (JSON.parse(stdout) as { services: { hookline: Service; kafka: Service } }).services
}

const hasKafka = await canStartKafka()

describe.skipIf(!(await hasDeployTools()))("the compose file", () => {
  test("starts the image with a configuration that Hookline takes, and secrets that it names", async () => {
    const { hookline: service, kafka } = await composed()
    expect(service).toMatchObject({
      image: `hookline:${manifest.version}`,
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
      depends_on: { kafka: { condition: "service_healthy" } },
    })
    expect(Number.parseInt(service.stop_grace_period)).toBeGreaterThan(DRAIN_TIMEOUT_S)
    expect(join(service.build!.context, service.build!.dockerfile)).toBe(join(DEPLOY, "Dockerfile"))
    const dockerfile = readFileSync(join(DEPLOY, "Dockerfile"), "utf8")
    const [, program] = /^ENTRYPOINT \["(.+)"\]$/m.exec(dockerfile)!
    expect(service.healthcheck.test.slice(0, 3)).toEqual(["CMD", program!, "health"])
    const [, path] = /^ENV HOOKLINE_CONFIG=(.+)$/m.exec(dockerfile)!
    const mounted = service.volumes.find(({ target }) => target === path)!
    expect(mounted.read_only).toBe(true)

    const given = service.secrets.map(({ target }) => target.replace(/^(?!\/)/, "/run/secrets/"))
    const configuration = readFileSync(mounted.source, "utf8")
    const named = [...configuration.matchAll(/\$\{file:([^}]+)\}/g)].map(([, file]) => file!)
    expect(named.toSorted()).toEqual(given.toSorted())
    const [, server] = /^bootstrap_servers = (.+)$/m.exec(configuration)!
    expect(kafka.environment["KAFKA_ADVERTISED_LISTENERS"]).toBe(`PLAINTEXT://${server}`)

    using folder = temporaryFolder()
    const checkout = folder.make("checkout")
    cpSync(DEPLOY, join(checkout, "deploy"), {
      recursive: true,
      filter: (path) => !path.endsWith("/secrets"),
    })
    const lines = blocksOf("docs/deploying.md").find(({ text }) => text.includes("docker compose"))!.text
    const [prepare, engine] = [/^(?!docker)/, /^docker compose/].map((of) =>
      lines.split("\n").filter((line) => of.test(line)),
    )
    const env = { ...process.env, STRIPE_WEBHOOK_SECRET: "whsec_obviously-fake" }
    const prepared = await runToEnd(["sh", "-euc", prepare!.join("\n")], { cwd: checkout, env })
    expect(prepared).toMatchObject({ status: 0, stderr: "" })
    const made = service.secrets.map(({ source }) => Bun.file(join(checkout, "deploy/secrets", source)).size)
    expect(made.every((size) => size > 0)).toBe(true)
    expect(engine!.every((line) => line.startsWith("docker compose -f deploy/compose.yaml "))).toBe(true)
    const secret = join(folder.path, "secret")
    writeFileSync(secret, "whsec_obviously-fake", { mode: 0o600 })
    const file = join(folder.path, "pipelines.conf")
    const volume = service.volumes.find(({ target }) => target === "/var/lib/hookline")!
    const here = configuration.replaceAll(/\$\{file:[^}]+\}/g, `\${file:${secret}}`)
    writeFileSync(file, here.replaceAll(volume.target, join(folder.path, "data")))
    const checked = await hookline(["check", "-c", file])
    expect(checked).toMatchObject({ status: 0, stderr: expect.stringMatching(PLAIN_ADMIN) })
  })

  test.skipIf(!hasKafka)("configures a Kafka that formats its storage", async () => {
    const { image, environment } = (await composed()).kafka
    expect(image).toBe(`apache/kafka:${VERSION}`)
    using folder = temporaryFolder()
    const data = join(folder.path, "data")
    // as the image's start does
    const properties = Object.entries(environment).map(
      ([name, value]) =>
        `${name
          .replace(/^KAFKA_/, "")
          .toLowerCase()
          .replaceAll("_", ".")}=${value}\n`,
    )
    const file = join(folder.path, "server.properties")
    writeFileSync(file, properties.join("").replace(/^log\.dirs=.*$/m, `log.dirs=${data}`))
    const { classPath } = (await kafkaClassPath()) as { classPath: string }
    const id = ["--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ"]
    const format = ["java", "-cp", classPath, "kafka.tools.StorageTool", "format", ...id, "--config", file]
    expect(await runToEnd(format)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`Formatting metadata directory ${data}`),
    })
  })
})
