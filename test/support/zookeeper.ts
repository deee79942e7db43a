import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { endWithThisProcess, keep, openLogFile, type KafkaRuntime } from "./kafka-node.ts"
import { freePort } from "./ports.ts"

/** A ZooKeeper for the brokers of a release before KRaft. It ends with the test process, however that ends. */
export interface ZooKeeper {
  /** What a broker needs to use it. */
  readonly properties: { readonly [key: string]: string }
  readonly kill: () => Promise<void>
}

/** Starts the one that comes with the brokers' own class path. */
export async function startZooKeeper({ classPath, jvm }: KafkaRuntime, folder: string): Promise<ZooKeeper> {
  const port = await freePort()
  const file = join(folder, "zoo.cfg")
  const lines = {
    dataDir: join(folder, "data"),
    clientPortAddress: "127.0.0.1",
    clientPort: port,
    "admin.enableServer": false,
    // a broker that was killed may come back once its session is over, which is two ticks at least
    tickTime: 500,
  }
  await mkdir(folder, { recursive: true })
  await writeFile(
    file,
    Object.entries(lines)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(""),
  )
  const main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
  const java = Bun.spawn(["java", "-Xmx128m", ...jvm, "-cp", classPath, main, file], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  })
  java.unref()
  const guard = endWithThisProcess(java.pid, join(folder, "data"))
  void java.exited.then(() => guard.kill())
  const log = await openLogFile(`zookeeper-${port}`)
  void keep(java.stdout, log)
  void keep(java.stderr, log)
  return {
    // brokers wait for it while they start
    properties: {
      "zookeeper.connect": `127.0.0.1:${port}`,
      "zookeeper.session.timeout.ms": "2000",
    },
    async kill() {
      java.kill("SIGKILL")
      await java.exited
    },
  }
}
