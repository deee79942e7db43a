import { once } from "./handles.ts"
import { Tally, type MetricRegistry } from "./metric-registry.ts"
import {
  PipelineCounters,
  pipelineFamilies,
  type Families,
  type OutcomeKind,
  type PipelineMetrics,
} from "./pipeline-metrics.ts"

/** Stands for all pipelines without detail; no id of a pipeline. */
const ALL = "*"

/**
 * Counters of a pipeline without detail, at most fourteen series. What has more labels, and the histograms, are counted for
 * all of them together.
 */
class PipelineTotals extends PipelineCounters {
  /** undefined: the series has not begun. */
  readonly counts: { [key: string]: number | undefined } = {
    "2xx": 0,
    "4xx": 0,
    "5xx": 0,
    accepted: 0,
    rejected: 0,
    internal: 0,
    received: 0,
    acknowledged: 0,
    seconds: 0,
  }

  constructor(all: Families) {
    super(all, ALL)
  }

  #add(key: string, count = 1): void {
    this.counts[key] = (this.counts[key] ?? 0) + count
  }

  override answered(status: number, count?: number): void {
    this.#add(status < 400 ? "2xx" : status < 500 ? "4xx" : "5xx", count)
  }

  override received(bytes: number): void {
    this.#add("received", bytes)
  }

  override ended(outcome: OutcomeKind, reason: string, count?: number): void {
    this.#add(reason === "internal" ? reason : outcome, count)
  }

  override unverified(_reason: string, mode: "enforce" | "observe", count?: number): void {
    this.#add(mode, count)
  }

  // begun by the first one: few pipelines have any
  override unanswered(count = 1): void {
    if (count > 0) this.#add("unanswered", count)
  }

  override untrustedProxy(count = 1): void {
    if (count > 0) this.#add("untrustedProxy", count)
  }

  override acknowledged(ms: number): void {
    this.#add("acknowledged")
    this.#add("seconds", ms / 1000)
    super.acknowledged(ms)
  }
}

/** Keys of `PipelineTotals`, and the labels after the pipeline of their series. */
const TOTALS = {
  requests: { "2xx": ["2xx"], "4xx": ["4xx"], "5xx": ["5xx"] },
  events: {
    accepted: ["accepted", ""],
    dropped: ["dropped", ""],
    rejected: ["rejected", ""],
    answered: ["answered", ""],
    internal: ["rejected", "internal"],
  },
  received: { received: [] },
  unanswered: { unanswered: [] },
  untrustedProxy: { untrustedProxy: [] },
  verificationFailures: { enforce: ["", "enforce"], observe: ["", "observe"] },
} as const

/** Declares the metrics of pipelines, and counts by pipeline or, for those without detail, in totals. */
export function pipelineMetrics(registry: MetricRegistry) {
  const all = pipelineFamilies(registry)
  const totals = new Map<string, PipelineTotals>()
  let hasDetail = (_id: string): boolean => true

  for (const family of Object.keys(TOTALS) as (keyof typeof TOTALS)[])
    all[family].others = function* () {
      for (const [id, { counts }] of totals)
        for (const [key, labels] of Object.entries<readonly string[]>(TOTALS[family]))
          if (counts[key] !== undefined) yield [[id, ...labels], new Tally(counts[key])]
    }
  registry.reading(
    {
      name: "hookline_pipeline_acknowledgement_seconds",
      help: "Time from the end of a request's body to the broker's acknowledgement, of pipelines without detail.",
      type: "summary",
      labels: ["pipeline"],
    },
    function* () {
      for (const [id, { counts }] of totals) {
        yield [[id], counts["seconds"]!, "_sum"]
        yield [[id], counts["acknowledged"]!, "_count"]
      }
    },
  )
  return {
    events: all.events,
    acknowledgements: all.acknowledgements,
    notes: { unanswered: all.unanswered, untrusted_proxy: all.untrustedProxy },
    /** The handles of a pipeline, the same for every call with its id. */
    pipeline: once((id: string): PipelineMetrics => {
      if (id === "" || hasDetail(id)) return new PipelineCounters(all, id)
      const made = new PipelineTotals(all)
      totals.set(id, made)
      return made
    }),
    /** Decides which pipelines have detail, of those that are counted from now on. */
    setDetail(of: (id: string) => boolean): void {
      hasDetail = of
    },
  }
}
