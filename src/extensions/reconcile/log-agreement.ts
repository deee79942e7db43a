import type { LogReader } from "../../brokers/broker.ts"
import { disagreement } from "../../brokers/log-place.ts"
import { HooklineError } from "../../errors.ts"
import type { Doubt, MarkedPlace } from "./ledger-marks.ts"
import type { Reconciliation } from "./reconciliation.ts"

/** A partition that the log does not have. */
const GONE = { end: 0, epochs: undefined }

type LogState = ReturnType<NonNullable<LogReader["partitions"]>>

/** Compares a ledger with the log, takes back what the log no longer has, and marks how far it is now. */
export class LogAgreement {
  readonly #of: Reconciliation
  /** Events whose outcomes were taken back. */
  setBack = 0

  constructor(of: Reconciliation) {
    this.#of = of
  }

  /** Compares, unless the pipeline can't use the log, which may be another one for now. @throws HooklineError */
  async compareIfReady(): Promise<void> {
    if ((await this.#of.target.problem()) === undefined) await this.compare()
  }

  /** @throws HooklineError */
  async compare(): Promise<void> {
    const { api, ledger } = this.#of
    const nowMs = Math.floor(api.nowMs())
    const state = await readState(this.#of)
    if (state === undefined) return
    this.setBack += await takeBackLost(this.#of, state, nowMs)
    const places = state.all.map(({ topic, partition, end, epochs, clusterId, topicId }) => {
      const epoch = end === 0 ? undefined : epochs?.before(end)
      return { topic, partition, clusterId, topicId, offset: end, epoch }
    })
    await ledger.do("mark", nowMs, places, state.gaps.length)
  }
}

/** undefined: the log is no file, or there is none yet. @throws HooklineError */
async function readState({ openLog, ledger }: Reconciliation): Promise<LogState | undefined> {
  try {
    await using opened = new AsyncDisposableStack()
    const reader = opened.adopt(await openLog(), (it) => it.close())
    return reader.partitions?.()
  } catch (error) {
    const isMissing = error instanceof HooklineError && error.code === "no_log"
    if (isMissing && (await ledger.do("places", true)).length === 0) return undefined
    throw error
  }
}

async function takeBackLost(of: Reconciliation, state: LogState, nowMs: number): Promise<number> {
  const { api, ledger, index, log, windowMs } = of
  const now = new Map(state.all.map((it) => [`${it.topic} ${it.partition}`, it]))
  const disagrees = (place: MarkedPlace): boolean =>
    disagreement(place, now.get(`${place.topic} ${place.partition}`) ?? GONE) !== undefined
  const newest = await ledger.do("places", true)
  const { gaps: compared = state.gaps.length } = await ledger.do("progress")
  const gaps = newest.length === 0 ? [] : state.gaps.slice(compared)
  const isAgreed = !newest.some(disagrees)
  if (isAgreed && gaps.length === 0) return 0
  const places = await ledger.do("places", false)
  const doubts: Doubt[] = []
  const badMark = isAgreed ? undefined : places.find(disagrees)!.mark
  if (badMark !== undefined) doubts.push({ mark: badMark - 1, untilMs: nowMs })
  for (const { topic, partition, first, end } of gaps) {
    const own = places.filter((it) => it.topic === topic && it.partition === partition)
    const before = own.find(({ offset }) => offset > first)
    const after = own.find(({ offset }) => offset >= end)
    const mark = before === undefined ? await ledger.do("newestMark") : before.mark - 1
    const untilMs = after && (await ledger.do("timeOfMark", after.mark))
    doubts.push({ mark, untilMs: untilMs ?? nowMs })
  }
  const { latencyMs } = api.listing
  const events = await ledger.do("setBack", { doubts, badMark, nowMs, windowMs, latencyMs })
  await index?.forget()
  log.warn(
    { events },
    "the log does not have all records of events that were compared: another log, an earlier copy or a rescued one is in its place; these events count as missing, their certificates are taken back, and they are asked for again",
  )
  return events
}
