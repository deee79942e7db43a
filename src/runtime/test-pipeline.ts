import type { StoredRecord } from "../brokers/broker.ts"
import type { Configured } from "../components/define-component.ts"
import type { Processor } from "../pipeline/event.ts"
import type { Outcome } from "../pipeline/outcome.ts"
import { Application } from "./application.ts"
import { memoryConnection, type Registered } from "./connection-spec.ts"
import { Pipeline, type PipelineParts } from "./pipeline.ts"

/** The request, apart from its body. */
export interface TestRequest {
  /** In addition to those that a request has anyway. */
  readonly headers?: { readonly [name: string]: string } | undefined
  /** Default: POST. */
  readonly method?: string | undefined
  /** Path and query; default: the source's path. */
  readonly target?: string | undefined
  /** Default: 127.0.0.1. */
  readonly remoteAddress?: string | undefined
}

/** The result of a request. */
export interface TestedEvent {
  /** Of the answer, as are its headers and body. */
  readonly status: number
  readonly headers: Headers
  readonly body: string
  /** undefined: refused or answered before the body was read, or a fault. */
  readonly outcome: Outcome | undefined
  /** Published records, dead letters included, in order. */
  readonly records: readonly StoredRecord[]
}

/**
 * Sends one request through a pipeline, with a port's limits and answers, but without ports, brokers or files: records
 * and a Deduplicator's keys are kept in memory. Calls share no state.
 *
 * @param body an object is sent as JSON
 * @throws HooklineError `config` for invalid options
 */
export async function testPipeline(
  pipeline: Pipeline,
  body: string | Uint8Array | object,
  { headers = {}, method = "POST", target, remoteAddress = "127.0.0.1" }: TestRequest = {},
): Promise<TestedEvent> {
  let outcome: Outcome | undefined
  const watch: Processor = (event) => {
    event.onSettled((its) => void (outcome = its))
    return event
  }
  const { id, source, processors, sink } = pipeline
  const memory = memoryConnection()
  const app = new Application({ service: { logLevel: "silent" } })
  const named = sink.given.connection as string | Registered | undefined
  app.registerConnection(typeof named === "object" ? named.id : (named ?? "memory"), memory)
  app.addPipeline(new Pipeline(id, { source, processors: [watch, ...processors.map(inMemory)], sink }))
  await app.start({ listen: false })
  try {
    const path = target ?? app.plan().pipelines[0]!.source.values.path
    const sent = method === "GET" || method === "HEAD" ? null : bytesOf(body)
    const url = new URL(String(path), "http://localhost").href
    const request = new Request(url, { method, headers: { ...headers }, body: sent })
    const response = await app.fetch(request, { remoteAddress })
    return {
      status: response.status,
      headers: response.headers,
      body: await response.text(),
      outcome,
      records: memory.records(),
    }
  } finally {
    await app.stop()
  }
}

function bytesOf(body: string | Uint8Array | object): string | Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return body
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}

/** The step with its keys in memory, whatever its options. */
function inMemory(step: PipelineParts["processors"][number]): typeof step {
  if (typeof step === "function" || step.component.store === undefined) return step
  const given = { ...step.given, store: "memory", storeCa: undefined }
  return { ...step, given } satisfies Configured<"processor">
}
