import { join, resolve } from "node:path"
import { reload, startHookline, temporaryFolder } from "../test/support/hookline.ts"
import { freePort } from "../test/support/ports.ts"
import { stripeShaped } from "./body.ts"
import { onceAccepting, SECRET, startHttp, type Started, type Target, type Topic } from "./target.ts"

/** The Hookline that is measured: this one, or that of the folder which BENCH_CHECKOUT names. */
export const PROGRAM = resolve(process.env["BENCH_CHECKOUT"] ?? join(import.meta.dir, ".."), "src/cli.ts")

export interface Variant {
  /** As those of a target. */
  readonly name?: string
  readonly title?: string
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
  /** A Router gives events one of so many topics, in turn. */
  readonly topics?: number
  /** Of the topic; otherwise as many as those of other targets. */
  readonly partitions?: number
  /** 1 unless given. */
  /** Where Kafka clients read the embedded log. */
  readonly kafkaListen?: string
  /** For Bun, before the program. */
  readonly bunFlags?: readonly string[]
  readonly env?: { readonly [name: string]: string }
}

/** A Hookline that was started. */
export interface StartedHookline extends Started {
  readonly adminUrl: string
  readonly configuration: string
  /** Has it read another configuration. @throws Error when it does not take it */
  reload(configuration: string): Promise<void>
}

/** @throws Error when the event was not accepted */
export async function postOne({ url }: StartedHookline): Promise<void> {
  const { ok, status } = await fetch(url!, { method: "POST", body: stripeShaped })
  if (!ok) throw new Error(`an event was answered ${status}`)
}

interface HooklineTarget extends Target {
  start(topic: Topic | undefined): Promise<StartedHookline>
}

/** The topic of an idle pipeline. */
const idleTopic = (at: number): string => `idle-${at}`

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
  name = "hookline",
  title = "Hookline",
  log,
  hmac = false,
  pipelines = 1,
  turns = pipelines,
  idle = 0,
  topics,
  keys = topics,
  partitions,
  kafkaListen = "off",
  bunFlags = [],
  env = {},
}: Variant): HooklineTarget {
  const secret = hmac ? SECRET : undefined
  return {
    name,
    title,
    onKafka: log === "kafka",
    isReceiver: log === "kafka",
    secret,
    partitions,
    idleTopics: log === "kafka" ? Array.from({ length: idle }, (_, at) => idleTopic(at)) : [],
    async start(topic): Promise<StartedHookline> {
      await using parts = new AsyncDisposableStack()
      const folder = parts.use(temporaryFolder())
      const port = await freePort()
      const connection =
        log === "kafka"
          ? `bootstrap_servers = ${topic!.bootstrapServers.join(", ")}`
          : `directory = log\nkafka_listen = ${kafkaListen}`
      const paths = Array.from({ length: pipelines }, (_, i) => (pipelines === 1 ? "/" : `/hooks/${i}`))
      const sections = paths.map(
        (path, i) =>
          `[pipeline:p${i}:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\npath = ${path}\n` +
          (hmac ? `[pipeline:p${i}:Verifier]\nprovider = github\nsecret = ${SECRET}\n` : "") +
          `[pipeline:p${i}:BrokerSink]\ntopic = ${topic?.topic ?? "bench"}\n` +
          (keys === undefined || topics !== undefined ? "" : "key = header:X-Key\n") +
          (topics === undefined
            ? ""
            : `[pipeline:p${i}:Router]\ntopic = {header:X-Key}\ntopics = *\nmax_topics = ${topics}\n`),
      )
      for (let at = 0; at < idle; at++) sections.push(idlePipeline(at, port))
      const configuration = `[connection:bench]\n${connection}\n${sections.join("")}`
      const running = parts.use(
        await startHookline(configuration, {
          folder: folder.path,
          program: [process.execPath, ...bunFlags, PROGRAM],
          env,
        }),
      )
      const { pid, exited } = running
      const url = `http://127.0.0.1:${port}${paths[0]!}`
      const inTurn = turns === 1 ? undefined : Array.from({ length: turns }, (_, i) => paths[i % pipelines]!)
      const started = await onceAccepting({ pid, url, secret, paths: inTurn, keys, exited })
      const whole = parts.move()
      return {
        ...started,
        adminUrl: running.adminUrl!,
        configuration,
        async reload(next) {
          if ((await reload(running, folder.path, next)) === "not")
            throw new Error(`the reload failed:\n${running.output()}`)
        },
        [Symbol.asyncDispose]: () => whole.disposeAsync(),
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
    const port = await freePort()
    return startHttp([process.execPath, "bench/bare.ts", `${port}`], port)
  },
}
