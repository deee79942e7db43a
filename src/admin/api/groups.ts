import { within } from "../../clock/clock.ts"
import { HooklineError } from "../../errors.ts"
import { rangesIfAny } from "../../brokers/all-topics.ts"
import type { GroupOffsets, OffsetRange } from "../../brokers/broker.ts"
import type { Service } from "../service.ts"
import { readLog } from "./records.ts"
import { route, type ApiRoute } from "./route.ts"
import { ConsumerGroups, type GroupOverview } from "./shapes.ts"

const MOST_ROWS = 500
/** A connection that does not answer must not keep others from being shown. */
const ANSWER_MS = 3000

/** The consumer groups of topics that pipelines publish to, and how far behind they are. Nothing is changed. */
export const groupsRoute = ({ service }: { readonly service: Service }): ApiRoute =>
  route("GET /api/groups", {
    summary: "Consumer groups of the pipelines' topics, with their positions and lag.",
    response: ConsumerGroups,
    async answer() {
      const problems: ConsumerGroups["problems"] = []
      const all = service.connections().map(async ({ id }) => {
        try {
          return await within(ANSWER_MS, rowsOf(service, id), () => {
            throw new HooklineError("unavailable", `no answer within ${ANSWER_MS / 1000} s`)
          })
        } catch (error) {
          if (!(error instanceof HooklineError)) throw error
          // there is no log before the first event
          if (error.code !== "no_log") problems.push({ connection: id, problem: error.message })
          return []
        }
      })
      const rows = (await Promise.all(all)).flat().toSorted((a, b) => b.lag - a.lag)
      return { groups: rows.slice(0, MOST_ROWS), left_out: Math.max(0, rows.length - MOST_ROWS), problems }
    },
  })

async function rowsOf(service: Service, connection: string): Promise<GroupOverview[]> {
  const published = service.pipelines().filter((it) => it.connection === connection)
  const forwarded = service
    .forwards()
    .filter(({ from }) => from.startsWith(`${connection}/`))
    .map(({ from }) => from.slice(connection.length + 1))
  const topics = new Set([...published.map(({ topic }) => topic), ...forwarded])
  const groups = await service.groups(connection)
  const read = groups.flatMap((of) =>
    [...of.committed].filter(([topic]) => topics.has(topic)).map(([topic, next]) => ({ of, topic, next })),
  )
  if (read.length === 0) return []
  return readLog(service, connection, (reader) => {
    const ranges = new Map<string, Promise<readonly OffsetRange[]>>()
    // a group may have read a topic that is deleted since
    const of = (topic: string) => ranges.getOrInsertComputed(topic, (it) => rangesIfAny(reader, it))
    return Promise.all(
      read.map(async ({ of: group, topic, next }) => rowOf(connection, group, topic, next, await of(topic))),
    )
  })
}

function rowOf(
  connection: string,
  { group, state, members }: GroupOffsets,
  topic: string,
  committed: ReadonlyMap<number, number>,
  ranges: readonly OffsetRange[],
): GroupOverview {
  const positions = ranges.map(({ partition, first, end }) => ({
    partition,
    next: Math.min(end, Math.max(first, committed.get(partition) ?? first)),
    end,
  }))
  const lag = positions.reduce((sum, { next, end }) => sum + end - next, 0)
  return { connection, group, topic, lag, state, members: members ?? null, positions }
}
