import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePorts } from "../test/support/ports.ts"
import { SECRET, startHttp, type Started, type Target, type Topic } from "./target.ts"

interface Variant {
  readonly name: string
  readonly title: string
  readonly log: "embedded" | "kafka"
  /** Whether signatures are verified. */
  readonly hmac?: boolean
  /** How many pipelines, each with a path of its own that gets its share of the load; 1 unless given. */
  readonly pipelines?: number
  /** Its requests are prepared, and sent in turn, as if they were for so many pipelines: that costs the load generator. */
  readonly turns?: number
  /** How many more, each with a path and a topic of its own, that get no load. */
  readonly idle?: number
  /** Events have one of so many keys. */
  readonly keys?: number
  /** Of the topic; otherwise as many as those of other targets. */
  readonly partitions?: number
  /** 1 unless given. */
  readonly workers?: number
  /** Where Kafka clients read the embedded log. */
  readonly kafkaListen?: string
  /** Where the program lies; this checkout unless given. */
  readonly checkout?: string
  /** For Bun, before the program. */
  readonly bunFlags?: readonly string[]
  readonly env?: { readonly [name: string]: string }
}

/** A Hookline that was started. */
export interface StartedHookline extends Started {
  /** Its configuration file. */
  readonly file: string
  /** The file with its log. */
  readonly log: string
  readonly adminUrl: string
}

export interface HooklineTarget extends Target {
  start(topic: Topic | undefined): Promise<StartedHookline>
}

/** The topic of an idle pipeline. */
export const idleTopic = (at: number): string => `idle-${at}`

/** The sections of an idle pipeline. */
export const idlePipeline = (at: number, port: number, topic = idleTopic(at)): string =>
  `[pipeline:idle${at}:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\npath = /idle/${at}\n` +
  `[pipeline:idle${at}:Verifier]\nprovider = github\nsecret = ${SECRET}\n` +
  `[pipeline:idle${at}:BrokerSink]\ntopic = ${topic}\n`

/**
 * Hookline as its users run it: a configuration file, `hookline run`, every limit and log at its default, the admin
 * listener with its metrics on.
 */
export function hookline({
  name,
  title,
  log,
  hmac = false,
  pipelines = 1,
  turns = pipelines,
  idle = 0,
  keys,
  partitions,
  workers = 1,
  kafkaListen = "off",
  ...how
}: Variant): HooklineTarget {
  const secret = hmac ? SECRET : undefined
  return {
    name,
    title,
    onKafka: log === "kafka",
    isReceiver: log === "kafka",
    secret,
    partitions,
    async start(topic): Promise<StartedHookline> {
      const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"))
      const [port, adminPort] = (await freePorts(2)) as [number, number]
      const connection =
        log === "kafka"
          ? `bootstrap_servers = ${topic!.bootstrapServers.join(", ")}`
          : `directory = ${join(folder, "log")}\nkafka_listen = ${kafkaListen}`
      const paths = Array.from({ length: pipelines }, (_, i) => (pipelines === 1 ? "/" : `/hooks/${i}`))
      const sections = paths.map(
        (path, i) =>
          `[pipeline:p${i}:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\npath = ${path}\n` +
          (hmac ? `[pipeline:p${i}:Verifier]\nprovider = github\nsecret = ${SECRET}\n` : "") +
          `[pipeline:p${i}:BrokerSink]\ntopic = ${topic?.topic ?? "bench"}\n` +
          (keys === undefined ? "" : "key = header:X-Key\n"),
      )
      for (let at = 0; at < idle; at++) sections.push(idlePipeline(at, port))
      const file = join(folder, "pipelines.conf")
      await Bun.write(
        file,
        `[connection:bench]\n${connection}\n${sections.join("")}${workers === 1 ? "" : `[service]\nworkers = ${workers}\n`}` +
          `[admin]\nlisten = 127.0.0.1:${adminPort}\n`,
      )
      const remove = (): void => rmSync(folder, { recursive: true, force: true })
      try {
        const started = await startHttp(
          {
            args: [process.execPath, ...(how.bunFlags ?? []), "src/cli.ts", "run", "-c", file],
            ...(how.checkout === undefined ? {} : { cwd: how.checkout }),
            url: `http://127.0.0.1:${port}${paths[0]!}`,
            output: join(folder, "output"),
            ...(turns === 1 ? {} : { paths: Array.from({ length: turns }, (_, i) => paths[i % pipelines]!) }),
            ...(keys === undefined ? {} : { keys }),
            ...(how.env === undefined ? {} : { env: how.env }),
          },
          secret,
        )
        return {
          ...started,
          file,
          log: join(folder, "output"),
          adminUrl: `http://127.0.0.1:${adminPort}`,
          stop: () => started.stop().finally(remove),
        }
      } catch (error) {
        remove()
        throw error
      }
    },
  }
}

/** What the pipelines are measured against. */
export const bare: Target = {
  name: "bare",
  title: "bare `Bun.serve`",
  onKafka: false,
  isReceiver: false,
  async start() {
    const [port] = (await freePorts(1)) as [number]
    const args = [process.execPath, "bench/bare.ts", `${port}`]
    return startHttp({ args, url: `http://127.0.0.1:${port}/` }, undefined)
  },
}
