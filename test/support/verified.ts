import {
  Application,
  brokerSink,
  embeddedConnection,
  enricher,
  Pipeline,
  validator,
  webHookSource,
} from "../../src/index.ts"
import type { PipelineParts } from "../../src/index.ts"
import { valuesInLog } from "./log-values.ts"
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
 * Starts a pipeline of each of these steps, or of several, with the Validator and the Enricher behind them.
 *
 * @param options of the sources
 */
export async function startVerified(
  directory: string,
  steps: { readonly [pipeline: string]: Processors[number] | Processors },
  options: {
    path?: string
    publicUrl?: string
    trustedProxies?: string[]
    unverifiedRateLimit?: number
  } = {},
): Promise<Verified> {
  const app = new Application({ service: { logLevel: "silent" } })
  app.registerConnection("log", embeddedConnection({ directory }))
  for (const [id, step] of Object.entries(steps)) {
    app.addPipeline(
      new Pipeline(id, {
        source: webHookSource({ host: "127.0.0.1", port: 0, path: "/in", ...options }),
        processors: [...[step].flat(), validator(), enricher()],
        sink: brokerSink({ topic: id }),
      }),
    )
  }
  const { listening } = await app.start()
  return {
    origin: (pipeline) => new URL(listening.find((it) => it.pipeline === pipeline)!.url).origin,
    published: (pipeline) => valuesInLog(directory, pipeline),
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
