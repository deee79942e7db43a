import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { endingWithThisProcess, untilAnswers } from "./child.ts"
import { until } from "./kafka-options.ts"
import { freePort } from "./ports.ts"
import { redisUrl, sendOnce, startRedis, tlsSettings, type OwnRedis, type RedisTls } from "./redis.ts"

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
      const process = Bun.spawn(command, { stdout: "ignore" })
      const send = (...command: [string, ...string[]]): Promise<unknown> =>
        sendOnce(redisUrl(port, tls && SENTINEL_PASSWORD, tls), tls, ...command)
      await untilAnswers(process, async () => (await send("PING")) === "PONG")
      return { port, process, ask: (command: string): Promise<unknown> => send("SENTINEL", command, "main") }
    }),
  )
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`)
  const all = [master, ...replicas]
  /** The one that is master, once each Sentinel says so, has ended the failover, and knows the other two as its replicas. */
  const settled = async (): Promise<OwnRedis | undefined> => {
    const found = await Promise.all(sentinels.map(viewOf))
    const [first] = found
    return found.every((port) => port === first) ? all.find((it) => portOf(it) === first) : undefined
  }
  await until("the Sentinels know each other and both replicas", async () => (await settled()) === master)
  return {
    url: `redis+sentinel://:${PASSWORD}@${addresses.join(",")}/main`,
    /** With the credentials of a user, and those of the Sentinels. */
    securedUrl: (user: string) =>
      `rediss+sentinel://${user}@${addresses.join(",")}/main?sentinel_password=${SENTINEL_PASSWORD}`,
    master,
    /**
     * Kills the one that is the master, starts it again once another one is, and waits until that is over for each Sentinel: one
     * that is still at the last failover when a master is killed takes up to a minute to agree with the others on the next.
     */
    async failOver(): Promise<void> {
      let before: OwnRedis | undefined
      await until("the Sentinels agree", async () => (before = await settled()) !== undefined)
      await before!.kill()
      const successor = async (): Promise<OwnRedis | undefined> => {
        const named = await Promise.all(sentinels.map(({ ask }) => ask("get-master-addr-by-name")))
        const ports = (named as [host: string, port: string][]).map(([, port]) => port)
        const byMost = ports.find((it, at) => ports.indexOf(it) !== at)
        return all.find((it) => portOf(it) === byMost && it !== before)
      }
      let latest: OwnRedis | undefined
      await until("another one is the master", async () => (latest = await successor()) !== undefined)
      await before!.start()
      // its arguments may name another one
      await before!.send("REPLICAOF", "127.0.0.1", portOf(latest!))
      await until("the failover is over", async () => (await settled()) !== undefined)
    },
    processes: sentinels.map(({ process }) => process),
    async [Symbol.asyncDispose]() {
      for (const { process } of sentinels) process.kill("SIGKILL")
      for (const it of all) await it[Symbol.asyncDispose]()
    },
  }
}

/** The port of the master that a Sentinel names; undefined while it does not know the other ones, two replicas, and no failover. */
async function viewOf({ ask }: Sentinel): Promise<string | undefined> {
  const [master, replicas] = (await Promise.all([ask("master"), ask("replicas")])) as [Known, Known[]]
  const isWhole = master["flags"] === "master" && master["num-other-sentinels"] === `${SENTINELS - 1}`
  const follows = (it: Known): boolean =>
    it["flags"] === "slave" && it["master-link-status"] === "ok" && it["master-port"] === master["port"]
  return isWhole && replicas.length === 2 && replicas.every(follows) ? master["port"] : undefined
}

interface Sentinel {
  /** Sends it `SENTINEL command main`. */
  readonly ask: (command: string) => Promise<unknown>
}

/** What a Sentinel says of a server. */
type Known = { readonly [name: string]: string }
