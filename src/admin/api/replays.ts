import { Type } from "./shape.ts"
import { toShownUrl } from "../../outgoing/shown-url.ts"
import { rowOfReplica, type AdminClient, type RowElsewhere } from "../admin-client.ts"
import type { Replay, Replays, ReplayFrom, ReplayTo } from "../replays.ts"
import type { Replicas } from "../replicas.ts"
import type { Service } from "../service.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute } from "./route.ts"
import { ReplayClaim, ReplayCount, ReplayOverview, ReplayRequest } from "./shapes.ts"

const ID = Type.Object({
  id: Type.String({ maxLength: 200, description: "`last`: the one that was begun last." }),
})

interface ReplayDeps {
  readonly service: Pick<Service, "replays">
  readonly replicas: Replicas
}

/** @throws ApiError 404 */
async function findReplay(deps: ReplayDeps, id: string, request: Request): Promise<Replay | RowElsewhere> {
  const { replays } = deps.service
  const others = deps.replicas.answering(request)
  const wanted = id === "last" ? ((await replaysOfAll(replays, others))[0]?.id ?? "") : id
  const replay = rowOfReplica(others, "replays", wanted) ?? replays.find(wanted)
  if (replay === undefined) throw new ApiError(404, "no replay has this id")
  return replay
}

const elsewhere = async ({ client, path }: RowElsewhere, rest = "", method = "GET") =>
  client.named(await client.ask<ReplayOverview>(path + rest, method))

/** The replays of this service and of others, the newest first. */
export const replaysOf = (replays: Replays, others: readonly ReplayOverview[] = []): ReplayOverview[] =>
  [...replays.list().map(jobOf), ...others].toSorted((a, b) => b.started_at - a.started_at)

async function replaysOfAll(replays: Replays, replicas: readonly AdminClient[]): Promise<ReplayOverview[]> {
  const rows = await Promise.all(replicas.map((it) => it.rows<ReplayOverview>("replays")))
  return replaysOf(replays, rows.flat())
}

/** Replays that the service runs. */
export function replayRoutes(deps: ReplayDeps): ApiRoute[] {
  const { replays } = deps.service
  const change = (
    name: "pause" | "resume" | "cancel",
    summary: string,
    apply: (replay: Replay) => boolean | Promise<void>,
  ): ApiRoute =>
    route(`POST /api/replays/:id/${name}`, {
      summary,
      params: ID,
      response: ReplayOverview,
      async answer({ params: { id }, request, note }) {
        const replay = await findReplay(deps, id, request)
        note({ replay: replay.id })
        if ("client" in replay) return elsewhere(replay, `/${name}`, "POST")
        if ((await apply(replay)) === false)
          throw new ApiError(409, `the replay is ${replay.job.progress().state}`)
        return jobOf(replay)
      },
    })
  return [
    route("GET /api/replays", {
      summary: "The replays that run, and the last ones that ended, the newest first.",
      response: Type.Array(ReplayOverview),
      answer: ({ request }) => replaysOfAll(replays, deps.replicas.answering(request)),
    }),
    route("POST /api/replays", {
      summary: "Sends records of a topic again, to another topic or to a URL.",
      body: ReplayRequest,
      response: ReplayOverview,
      async answer({ body, note }) {
        const to = targetOf(body)
        const shown = to instanceof URL ? toShownUrl(to) : `${to.connection}/${to.topic}`
        note({ from: `${body.from.connection}/${body.from.topic}`, to: shown })
        const request = { ...body, ...(to instanceof URL && { to: { url: shown } }) }
        const others = (await deps.replicas.fresh()).filter(({ problem }) => problem === undefined)
        const replay = await replays.start({ request, from: rangeOf(body), to, rate: body.rate, others })
        note({ replay: replay.id })
        return jobOf(replay)
      },
    }),
    route("GET /api/replays/claims", {
      summary: "Which replays this replica runs, or is about to: others do not start the same.",
      response: Type.Array(ReplayClaim),
      answer: () => replays.claims.list(),
    }),
    route("POST /api/replays/count", {
      summary: "How many records a replay would send.",
      isReadOnly: true,
      body: Type.Object({ from: ReplayRequest.properties.from }),
      response: ReplayCount,
      async answer({ body }) {
        const { records, isExact } = await replays.count(rangeOf(body))
        return { records, is_exact: isExact }
      },
    }),
    route("GET /api/replays/:id", {
      summary: "A replay.",
      params: ID,
      response: ReplayOverview,
      async answer({ params: { id }, request }) {
        const replay = await findReplay(deps, id, request)
        return "client" in replay ? elsewhere(replay) : jobOf(replay)
      },
    }),
    change("pause", "Pauses a replay: what was sent is acknowledged.", ({ job }) => job.pause()),
    change("resume", "Resumes a paused replay.", ({ job }) => job.resume()),
    change("cancel", "Ends a replay; nothing happens to one that has ended.", ({ job }) => job.cancel()),
  ]
}

function rangeOf({ from }: Pick<ReplayRequest, "from">): ReplayFrom {
  const { connection, topic, partition, from_offset: fromOffset, until_offset: untilOffset } = from
  const { since: sinceMs, until: untilMs, where } = from
  return { connection, topic, where, range: { partition, fromOffset, untilOffset, sinceMs, untilMs } }
}

/** @throws ApiError 400 */
function targetOf({ to }: ReplayRequest): ReplayTo {
  if (!("url" in to)) return to
  const url = URL.canParse(to.url) ? new URL(to.url) : undefined
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new ApiError(400, "body, to.url: is no http or https URL")
  return url
}

/** The state of a replay. */
export function jobOf({ id, request, job, endedAtMs }: Replay): ReplayOverview {
  const {
    state,
    startedMs,
    offsets,
    passed,
    replayed,
    failed,
    missed,
    perSecond,
    remainingMs,
    problem,
    failures,
  } = job.progress()
  return {
    id,
    request,
    state,
    started_at: startedMs,
    ended_at: endedAtMs ?? null,
    total: (request.from.where ?? "") === "" ? offsets : null,
    share: offsets === 0 ? 1 : passed / offsets,
    replayed,
    failed,
    missed,
    per_second: Math.round(perSecond * 10) / 10,
    remaining_ms: remainingMs === undefined ? null : Math.round(remainingMs),
    error: problem ?? null,
    failures: failures.map(({ partition, offset, reason }) => ({ partition, offset, error: reason })),
  }
}
