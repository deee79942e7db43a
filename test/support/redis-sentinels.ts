import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { endingWithThisProcess } from "./child.ts"
import { until } from "./kafka-options.ts"
import { freePort } from "./ports.ts"
import { startRedis, tlsFlags, tlsSettings, type OwnRedis, type RedisTls } from "./redis.ts"

const SENTINELS = 3
const PASSWORD = "obviously-fake"
const SENTINEL_PASSWORD = "obviously-fake-of-sentinels"

export const portOf = ({ url }: OwnRedis): string => new URL(url).port

/**
 * Three servers, of which the first is the master, with three Sentinels.
 *
 * @param tls all of them speak TLS only, and the Sentinels have a password of their own
 * @param args of the servers
 */
export async function startSentinels(folder: string, tls?: RedisTls, args: readonly string[] = []) {
  const start = (...more: string[]): Promise<OwnRedis> =>
    startRedis({ password: PASSWORD, tls, args: ["--masterauth", PASSWORD, ...args, ...more] })
  const master = await start()
  const replicas = await Promise.all([1, 2].map(() => start("--replicaof", "127.0.0.1", portOf(master))))
  const secured =
    tls === undefined
      ? {}
      : {
          ...tlsSettings(tls),
          requirepass: SENTINEL_PASSWORD,
          "sentinel sentinel-pass": SENTINEL_PASSWORD,
        }
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, async () => {
      const port = await freePort()
      const file = join(folder, `sentinel-${port}.conf`)
      const lines = [
        tls === undefined ? `port ${port}` : `port 0\ntls-port ${port}`,
        "bind 127.0.0.1",
        `dir ${folder}`,
        `sentinel monitor main 127.0.0.1 ${portOf(master)} 2`,
        `sentinel auth-pass main ${PASSWORD}`,
        "sentinel down-after-milliseconds main 1000",
        "sentinel failover-timeout main 5000",
        ...Object.entries(secured).map(([name, value]) => `${name} ${value}`),
      ]
      writeFileSync(file, lines.join("\n"))
      const command = endingWithThisProcess("redis-server", file, "--sentinel")
      return { port, process: Bun.spawn(command, { stdout: "ignore" }) }
    }),
  )
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`)
  const flags = tls === undefined ? [] : [...tlsFlags(tls), "--no-auth-warning", "-a", SENTINEL_PASSWORD]
  const asked = (port: number | string, ...command: string[]): string =>
    Bun.spawnSync(["redis-cli", "-p", `${port}`, ...flags, ...command]).stdout.toString()
  await until("the Sentinels know each other and both replicas", async () =>
    sentinels.every(({ port }) => {
      const found = asked(port, "SENTINEL", "master", "main").split("\n")
      const valueOf = (name: string): string | undefined => found[found.indexOf(name) + 1]
      return valueOf("num-slaves") === "2" && valueOf("num-other-sentinels") === "2"
    }),
  )
  let latest = master
  return {
    url: `redis+sentinel://:${PASSWORD}@${addresses.join(",")}/main`,
    /** With the credentials of a user, and those of the Sentinels. */
    securedUrl: (user: string) =>
      `rediss+sentinel://${user}@${addresses.join(",")}/main?sentinel_password=${SENTINEL_PASSWORD}`,
    master,
    /** Kills the one that is the master, waits until another one is, and starts it again, as a replica of that one. */
    async failOver(): Promise<void> {
      const before = latest
      // one of them may not have learned of it yet
      const current = (): OwnRedis => {
        const named = sentinels.map(({ port }) => asked(port, "SENTINEL", "get-master-addr-by-name", "main"))
        const [byMost] = named.filter((it, at) => named.indexOf(it) !== at)
        return [master, ...replicas].find((it) => byMost?.split("\n")[1] === portOf(it)) ?? before
      }
      await before.kill()
      while ((latest = current()) === before) await Bun.sleep(250)
      await before.start()
      // its arguments may name another one
      await before.send("REPLICAOF", "127.0.0.1", portOf(latest))
      const isWhole = async (): Promise<boolean> =>
        String(await latest.send("INFO", "replication")).includes("connected_slaves:2")
      while (!(await isWhole())) await Bun.sleep(250)
    },
    processes: sentinels.map(({ process }) => process),
    async [Symbol.asyncDispose]() {
      for (const { process } of sentinels) process.kill("SIGKILL")
      for (const it of [master, ...replicas]) await it[Symbol.asyncDispose]()
    },
  }
}
