import { alignedTable } from "../support/fault-table.ts"
import { ANOMALIES, type Anomaly, type AnomalyKind, type Verdict } from "./check.ts"
import { readHistory, type Op, type Run } from "./history.ts"

/** How much of the history around an anomaly is shown. */
const AROUND_MS = 15_000

export const isRight = ({ counts }: Verdict): boolean => Object.values(counts).every((count) => count === 0)

/** The section of docs/reliability.md. */
export function describeRun({ seed, minutes, perSecond }: Run, verdict: Verdict): string {
  const { sent, posts, acknowledged, refused, unknown, found, repeats, polled, faults, counts } = verdict
  const total = Object.values(faults).reduce((a, b) => a + b, 0)
  return `Seed ${seed}, ${minutes} minutes, ${perSecond} events a second, ${total} faults. ${sent} events in ${posts} requests: ${acknowledged} acknowledged, ${refused} refused for good, ${unknown} of an outcome that their senders never learned. ${found} events are in the log; ${repeats.unknown} records repeat one after a request of unknown outcome, ${repeats.spooled} in the topic with the spool. ${polled} records were read meanwhile.

${alignedTable([
  ["anomaly", "found"],
  ...Object.entries(ANOMALIES).map(([kind, meaning]) => [
    `\`${kind}\`: ${meaning}`,
    `${counts[kind as AnomalyKind]}`,
  ]),
])}
${alignedTable([
  ["fault", "times"],
  ...Object.entries(faults)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([kind, times]) => [kind, `${times}`]),
])}`
}

/** What a history has of some anomalies: all of their events, and the faults around. */
export async function* factsOf(path: string, examples: readonly Anomaly[]): AsyncGenerator<string> {
  const numbers = new Set(examples.map(({ n }) => n))
  const times: number[] = []
  const of = (op: Op): boolean => {
    if (op.f === "send" || op.f === "receipt") return numbers.has(op.n)
    return op.f === "poll" && op.records.some(([, n]) => numbers.has(n))
  }
  for await (const op of readHistory(path)) {
    if (!of(op)) continue
    if (op.f !== "poll" || op.reader !== "final") times.push(op.t)
    if (op.f !== "poll") yield JSON.stringify(op)
    else yield JSON.stringify({ ...op, records: op.records.filter(([, n]) => numbers.has(n)) })
  }
  for await (const op of readHistory(path)) {
    if (op.f === "fault" && times.some((t) => Math.abs(t - op.t) < AROUND_MS)) yield JSON.stringify(op)
  }
}
