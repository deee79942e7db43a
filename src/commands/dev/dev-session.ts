import { steadyMs } from "../../clock/clock.ts"
import type { AnsweredRequest } from "../../pipeline/outcome-log.ts"
import type { Application } from "../../runtime/application.ts"
import { explainRequest } from "../../runtime/explain-request.ts"
import type { Plan, PlannedPipeline } from "../../runtime/plan/plan.ts"
import { escapeControls } from "../../telemetry/escape-controls.ts"
import type { Report } from "../../verify/explanation.ts"
import type { Paint } from "../../process/colours.ts"
import { prettyBody } from "../pretty-record.ts"
import { lineMaker, placeInWords } from "./event-line.ts"
import { Forwarding, type Forwarded } from "./forwarding.ts"

interface SessionOptions {
  readonly app: Application
  readonly plan: Plan
  readonly forward: URL | undefined
  readonly isVerbose: boolean
  readonly paint: Paint
  readonly print: (text: string) => void
  /** What to do after the first event. */
  readonly next: string | undefined
}

/** How long the line of a published event waits for what the target says of it. */
const HELD_MS = 500
/** Mistakes shown of a refused event. */
const MOST_MISTAKES = 2

/** What became of the events of a session, and the lines that say so. */
export class DevSession {
  readonly #options: SessionOptions
  readonly #pipelines: ReadonlyMap<string, PlannedPipeline>
  readonly #lineOf: ReturnType<typeof lineMaker>
  readonly #forwarding: Forwarding | undefined
  /** Lines of published events that wait for the target, by place. */
  readonly #held = new Map<string, { readonly lines: string; readonly timer: Timer }>()
  readonly #startedMs = Date.now()
  readonly #counts = { published: 0, refused: 0, dropped: 0, answered: 0 }
  /** The id of the last request. */
  lastId: string | undefined
  #lastBody: Uint8Array | undefined
  #isExplaining = false
  #isFirstStored = false

  constructor(options: SessionOptions) {
    this.#options = options
    const { app, plan, forward, paint, print } = options
    this.#pipelines = new Map(plan.pipelines.map((it) => [it.id, it]))
    this.#lineOf = lineMaker(plan.pipelines, paint)
    if (forward === undefined) return
    this.#forwarding = new Forwarding({
      target: forward,
      openReader: (connection) => app.openReader(connection),
      sinceMs: this.#startedMs,
      onResult: (forwarded) => this.#forwarded(forwarded),
      failed: (error) =>
        print(paint("red", `forwarding ended: ${escapeControls((error as Error).message)}\n`)),
    })
    // before any event: a list's items are not reported one by one
    for (const { sink } of plan.pipelines) this.#follow(sink, undefined)
  }

  /** Takes note of a request: `onAnswer` of the application. */
  answered(answered: AnsweredRequest): void {
    const { pipeline = "", event } = answered
    const planned = this.#pipelines.get(pipeline)
    const place = planned && placeInWords(answered, String(planned.sink.values["topic"]))
    this.#count(answered)
    this.lastId = answered.request.id
    if (event !== undefined) this.#lastBody = event.body.slice()
    const body = this.#options.isVerbose && event !== undefined ? `${this.#pretty(event.body)}\n` : ""
    const line = `${this.#lineOf(answered, place)}${this.#firstStored(answered)}`
    if (planned !== undefined && answered.outcome?.kind === "accepted" && this.#forwarding !== undefined) {
      this.#follow(planned.sink, event?.topic)
      if (place !== undefined) return this.#hold(place, line, body)
    }
    if (planned !== undefined && isUnverified(answered) && !this.#isExplaining)
      void this.#explain(planned, answered, `${line}\n`, body)
    else this.#options.print(`${line}\n${this.#hint(answered)}${body}`)
  }

  /** Prints the body of the last event: as published, or as received if it was refused. */
  printBody(): void {
    const body = this.#lastBody
    if (body === undefined) return this.#options.print("no event yet\n")
    this.#options.print(
      body.length === 0 ? "it was empty, or a list: its items are in the topic\n" : `${this.#pretty(body)}\n`,
    )
  }

  /** Ends the forwarding. @returns the session in a sentence or two */
  async close(): Promise<string> {
    await this.#forwarding?.close()
    for (const place of this.#held.keys()) this.#release(place, "")
    const { published, refused, dropped, answered } = this.#counts
    const counted = [
      `${published} published`,
      `${refused} refused`,
      ...(dropped > 0 ? [`${dropped} dropped`] : []),
      ...(answered > 0 ? [`${answered} handshakes`] : []),
    ]
    const text = `${counted.join(", ")} in ${durationOf(Date.now() - this.#startedMs)}`
    if (this.#forwarding === undefined) return text
    const { delivered, refused: notTaken } = this.#forwarding
    const left = Math.max(0, published - delivered - notTaken)
    const ends = [
      `${delivered} forwarded`,
      ...(notTaken > 0 ? [`${notTaken} refused by the target`] : []),
      ...(left > 0 ? [`${left} not forwarded, which are in the log`] : []),
    ]
    return `${text}; ${ends.join(", ")}`
  }

  #count({ outcome }: AnsweredRequest): void {
    const counts = this.#counts
    if (outcome?.kind === "accepted") counts.published++
    else if (outcome?.kind === "dropped") counts.dropped++
    else if (outcome?.kind === "answered") counts.answered++
    else counts.refused++
  }

  #follow({ values }: PlannedPipeline["sink"], topic: string | undefined): void {
    const connection = values["connection"] ?? this.#options.plan.connections.keys().next().value
    this.#forwarding?.follow(String(connection), topic ?? String(values["topic"]))
  }

  #hold(place: string, line: string, body: string): void {
    const timer = setTimeout(() => this.#release(place, ""), HELD_MS)
    this.#held.set(place, { lines: `${line}\n${body}`, timer })
  }

  #release(place: string, result: string): boolean {
    const held = this.#held.get(place)
    if (held === undefined) return false
    clearTimeout(held.timer)
    this.#held.delete(place)
    this.#options.print(held.lines.replace("\n", `${result}\n`))
    return true
  }

  #forwarded({ place, isAccepted, text }: Forwarded): void {
    const { paint, print } = this.#options
    const result = paint(isAccepted ? "green" : "red", `-> ${escapeControls(text)}`)
    if (!this.#release(place, `  ${result}`)) print(`${INDENT}${place}  ${result}\n`)
  }

  /** One at a time: it may take a second, and anyone can have requests refused. */
  async #explain(
    pipeline: PlannedPipeline,
    answered: AnsweredRequest,
    line: string,
    body: string,
  ): Promise<void> {
    const { request, event } = answered
    const { method, url, path, query, headers } = request
    const receivedBody = event?.receivedBody.slice() ?? new Uint8Array()
    const captured = { method, url, path, query, headers: new Headers(headers), body: receivedBody }
    this.#isExplaining = true
    try {
      const report = await explainRequest(pipeline, captured, event?.receivedAtMs ?? Date.now())
      this.#options.print(
        `${line}${mistakesIn(report)
          .map((it) => `${INDENT}${it}\n`)
          .join("")}${body}`,
      )
    } finally {
      this.#isExplaining = false
    }
  }

  /** How long the first event took, and what to do next. */
  #firstStored({ outcome, event }: AnsweredRequest): string {
    if (this.#isFirstStored || outcome?.kind !== "accepted" || event === undefined) return ""
    this.#isFirstStored = true
    const { next, paint } = this.#options
    const verified = event.request.isVerified === true ? "verified, " : ""
    const took = (steadyMs() - event.arrivedMs).toFixed(1)
    return `\n${INDENT}${paint("green", `received, ${verified}stored in ${took} ms`)}${next === undefined ? "" : `; ${next}`}`
  }

  #hint({ outcome, pipeline }: AnsweredRequest): string {
    if (pipeline !== undefined || outcome?.kind !== "rejected" || outcome.status !== 404) return ""
    const paths = [...this.#pipelines.values()].map(({ source }) => String(source.values["path"]))
    return `${INDENT}webhooks are accepted at ${paths.join(", ")}\n`
  }

  #pretty(body: Uint8Array): string {
    return prettyBody(body, this.#options.paint)
  }
}

const INDENT = " ".repeat(14)

const isUnverified = ({ outcome, status }: AnsweredRequest): boolean =>
  outcome?.kind === "rejected" && status === 401 && outcome.reason.startsWith("unverified_")

/** The likely mistake, or the first possible one. */
function mistakesIn({ mistakes }: Report): string[] {
  const certain = mistakes.filter(({ is_certain }) => is_certain)
  const shown = certain.length > 0 ? certain.slice(0, MOST_MISTAKES) : mistakes.slice(0, 1)
  return shown.map(({ problem, remedy, is_certain }) =>
    escapeControls(`${is_certain ? "Likely mistake" : "Possibly"}: ${problem} ${remedy}`),
  )
}

function durationOf(ms: number): string {
  const s = Math.round(ms / 1000)
  return s < 120 ? `${s} s` : `${Math.round(s / 60)} min`
}
