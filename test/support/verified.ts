import {
  Application,
  BrokerSink,
  EmbeddedConnection,
  Enricher,
  Pipeline,
  Validator,
  WebHookSource,
} from "../../src/index.ts"
import type { PipelineParts } from "../../src/index.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded-reader.ts"
import type { Sent } from "./senders.ts"

type Processors = PipelineParts["processors"]

/** Pipelines that run in this process, each with a port of its own and a topic of its name. */
export interface Verified extends AsyncDisposable {
  /** Where a pipeline listens, without a path. */
  origin(pipeline: string): string
  /** The values that were published, by the order of their offsets. */
  published(pipeline: string): Promise<string[]>
}

/**
 * Starts a pipeline of each of these steps, with the Validator and the Enricher behind them.
 *
 * @param options of the sources
 */
export async function startVerified(
  directory: string,
  steps: { readonly [pipeline: string]: Processors[number] },
  options: { path?: string; public_url?: string; trusted_proxies?: string[] } = {},
): Promise<Verified> {
  const app = new Application({ service: { log_level: "silent" } })
  app.registerConnection("log", EmbeddedConnection({ directory }))
  for (const [id, step] of Object.entries(steps)) {
    app.addPipeline(
      new Pipeline(id, {
        source: WebHookSource({ host: "127.0.0.1", port: 0, path: "/in", ...options }),
        processors: [step, Validator(), Enricher()],
        sink: BrokerSink({ topic: id }),
      }),
    )
  }
  const { listening } = await app.start()
  return {
    origin: (pipeline) => new URL(listening.find((it) => it.pipeline === pipeline)!.url).origin,
    async published(pipeline) {
      const reader = openEmbeddedReader(directory)
      try {
        if (!(await reader.topics()).some(({ topic }) => topic === pipeline)) return []
        const values: string[] = []
        const { signal } = new AbortController()
        for await (const { value } of reader.read(pipeline, { from: "beginning", follow: false, signal }))
          values.push(Buffer.from(value).toString())
        return values
      } finally {
        await reader.close()
      }
    },
    [Symbol.asyncDispose]: () => app.stop(),
  }
}

/** Posts what a sender made to an origin, with the path and query that the sender believes in. */
export function deliver(
  origin: string,
  sentTo: string,
  sent: Sent,
  body: string | Uint8Array,
): Promise<Response> {
  const { pathname, search } = new URL(sent.url ?? sentTo)
  return fetch(origin + pathname + search, { method: "POST", body, headers: { ...sent.headers } })
}
