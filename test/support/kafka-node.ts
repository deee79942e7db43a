import { appendFileSync, readdirSync, readFileSync } from "node:fs"
import { copyFile, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { CACHE } from "./kafka-jars.ts"

const LOG4J = `status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss,SSS} %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
`
/** Matches the line of KRaft, and that of releases with ZooKeeper. */
const STARTED = /Kafka Server started|\[KafkaServer id=\d+\] started/
/** In the data folder of a node that was formatted. */
export const BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"

/** How the processes of a broker are run. */
export interface KafkaRuntime {
  readonly classPath: string
  /** Options of the virtual machine. */
  readonly jvm: readonly string[]
  /** What runs `java` in place of this process. */
  readonly command?: readonly string[]
  /** What StorageTool writes for the default features: the metadata that a node begins with. */
  readonly bootstrapCheckpoint?: string
}

/** One broker process. It ends with the test process, however that ends. */
export class KafkaNode {
  readonly #runtime: KafkaRuntime
  readonly #folder: string
  readonly #name: string
  #process: Bun.Subprocess<"ignore", "pipe", "pipe"> | undefined

  /** @param folder where the configuration and the data lie; server.properties is there */
  constructor(runtime: KafkaRuntime, folder: string, name: string) {
    this.#runtime = runtime
    this.#folder = folder
    this.#name = name
  }

  /** Writes server.properties. */
  async configure(properties: { readonly [key: string]: string }): Promise<void> {
    const lines = Object.entries({ ...properties, "log.dirs": join(this.#folder, "data") })
    await mkdir(this.#folder, { recursive: true })
    await writeFile(
      this.#file("server.properties"),
      lines.map(([key, value]) => `${key}=${value}\n`).join(""),
    )
    await writeFile(this.#file("log4j2.properties"), LOG4J)
  }

  /**
   * Writes server.properties and prepares the data folder, as StorageTool does: by StorageTool itself, which takes
   * seconds, where more is asked of it (`--add-scram` and the like) or the checkpoint is not known yet.
   */
  async format(
    properties: { readonly [key: string]: string },
    cluster: string,
    more: readonly string[],
  ): Promise<void> {
    const { bootstrapCheckpoint, classPath, jvm } = this.#runtime
    await this.configure(properties)
    if (bootstrapCheckpoint !== undefined && more.length === 0) {
      const data = join(this.#folder, "data")
      const directory = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url")
      const ids = {
        version: 1,
        "cluster.id": cluster,
        "node.id": properties["node.id"],
        "directory.id": directory,
      }
      await mkdir(data, { recursive: true })
      await writeFile(
        join(data, "meta.properties"),
        Object.entries(ids)
          .map(([key, value]) => `${key}=${value}\n`)
          .join(""),
      )
      await copyFile(bootstrapCheckpoint, join(data, BOOTSTRAP_CHECKPOINT))
      return
    }
    const format = [
      "kafka.tools.StorageTool",
      "format",
      "-t",
      cluster,
      "-c",
      this.#file("server.properties"),
      ...more,
    ]
    const tool = Bun.spawn(["java", ...jvm, "-cp", classPath, ...format], { stdout: "pipe", stderr: "pipe" })
    const said = (await tool.stdout.text()) + (await tool.stderr.text())
    if ((await tool.exited) !== 0) throw new Error(`Kafka's storage could not be formatted: ${said}`)
  }

  /** Starts the broker and waits until it serves. */
  async start(): Promise<void> {
    const log = await openLogFile(this.#name)
    const options = [
      "-Xmx512m",
      "-XX:+UseSerialGC",
      `-Dlog4j2.configurationFile=${this.#file("log4j2.properties")}`,
      ...this.#runtime.jvm,
    ]
    const { command = [], classPath } = this.#runtime
    const program = ["java", ...options, "-cp", classPath, "kafka.Kafka", this.#file("server.properties")]
    const java = Bun.spawn([...command, ...program], { stdin: "ignore", stdout: "pipe", stderr: "pipe" })
    java.unref()
    this.#process = java
    const guard = endWithThisProcess(java.pid, this.#folder)
    void java.exited.then(() => guard.kill())
    void keep(java.stderr, log)
    if (!(await keep(java.stdout, log, STARTED))) throw new Error(`Kafka did not start; its log is ${log}`)
  }

  get pid(): number {
    if (this.#process === undefined) throw new Error("the broker was not started")
    return this.#process.pid
  }

  /** Brings a broker back that a test left paused or killed. */
  async restore(): Promise<void> {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) this.resume()
    else await this.start()
  }

  /** Stops the broker, and returns when every thread of it stands; its connections stay open and answer nothing. */
  pause(): void {
    const { pid } = this
    process.kill(pid, "SIGSTOP")
    // The signal reaches a thread that is running on another core a moment later.
    while (!readdirSync(`/proc/${pid}/task`).every((thread) => stands(`/proc/${pid}/task/${thread}/stat`)));
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT")
  }

  /** kill -9, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL")
    await this.#process?.exited
  }

  /** SIGTERM: hands its partitions over, and waits until it is gone. */
  async shutDown(): Promise<void> {
    this.#process?.kill("SIGTERM")
    await this.#process?.exited
  }

  #file(name: string): string {
    return join(this.#folder, name)
  }
}

/** Whether a thread is stopped: its state in /proc, proc(5), is T. A thread that is gone meanwhile is too. */
function stands(stat: string): boolean {
  try {
    return / T /.test(readFileSync(stat, "latin1").split(")").at(-1)!.slice(0, 4))
  } catch {
    return true
  }
}

/** Keeps what a broker says; the log stays for a look after a failed run. */
export async function openLogFile(name: string): Promise<string> {
  const logs = join(CACHE, "logs")
  await mkdir(logs, { recursive: true })
  const log = join(logs, `${name}.log`)
  await writeFile(log, "")
  return log
}

/** Appends a stream to a file until it ends. Resolves true once `until` was seen, false when the stream ends before. */
export function keep(stream: ReadableStream<Uint8Array>, file: string, until?: RegExp): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  void (async () => {
    let said = ""
    let seen = false
    for await (const chunk of stream) {
      appendFileSync(file, chunk)
      if (seen) continue
      said += Buffer.from(chunk).toString()
      seen = until?.test(said) ?? true
      if (seen) resolve(true)
    }
    resolve(false)
  })()
  return promise
}

/**
 * A small process that kills another one and removes its folder as soon as this one is gone, however it went: its
 * standard input then ends.
 */
export function endWithThisProcess(pid: number, folder: string): Bun.Subprocess {
  const script = 'cat > /dev/null; kill -9 "$1"; rm -rf "$2"; rmdir "$(dirname "$2")"'
  const guard = Bun.spawn(["sh", "-c", script, "guard", `${pid}`, folder], {
    stdin: "pipe",
    stderr: "ignore",
  })
  guard.unref()
  return guard
}
