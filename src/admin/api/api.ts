import { HooklineError } from "../../errors.ts"
import { type AdminAccess, Sessions, type WrongTokens } from "../access.ts"
import { rowOfReplica } from "../admin-client.ts"
import type { Act } from "../audit.ts"
import { captureRoutes } from "./captures.ts"
import { EventStreams } from "./event-stream.ts"
import { admitBy } from "./gate.ts"
import { groupsRoute } from "./groups.ts"
import { Live } from "./live.ts"
import { openApiRoute } from "./openapi.ts"
import { overviewShape } from "./overview-shape.ts"
import { overviewRoutes, type OverviewDeps } from "./overview.ts"
import { problemRoutes } from "./problems.ts"
import { reasonsRoute } from "./reasons.ts"
import { recordRoutes } from "./records.ts"
import { replayRoutes } from "./replays.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute, answerBy } from "./route.ts"
import { sendRoutes } from "./send.ts"
import { sessionRoutes } from "./session.ts"
import { Type } from "./shape.ts"
import { verifyRoute } from "./verify.ts"
import { ChangedLevel, LoggedLevel, Reloaded } from "./shapes.ts"

export interface ApiDeps extends OverviewDeps {
  readonly admission: () => AdminAccess
  readonly wrongTokens: WrongTokens
  readonly failed: (error: unknown) => void
  readonly audit: (act: Act) => void
}

/** The admin API of one listener. */
export function makeApi({ service, sampler, replicas, admission, wrongTokens, failed, audit }: ApiDeps) {
  const streams = new EventStreams()
  const sessions = new Sessions()
  const deps = { service, sampler, replicas, streams, failed }
  const { sectionLists: lists } = service
  const shape = overviewShape(lists)
  const named = Object.assign({ Overview: shape }, ...lists.map(({ shapes }) => shapes))
  const routes = [
    ...overviewRoutes(deps, shape),
    new Live(deps, shape).route,
    ...recordRoutes(deps),
    ...captureRoutes(deps),
    ...problemRoutes(deps),
    reasonsRoute(deps),
    verifyRoute(service),
    ...sendRoutes(service),
    ...replayRoutes(deps),
    ...forwardRoutes(deps),
    groupsRoute(deps),
    ...logLevelRoutes(deps),
    reloadRoute(deps),
    ...sessionRoutes(sessions, wrongTokens, admission),
  ]
  return {
    answer: answerBy([...routes, openApiRoute(routes, named)], admitBy(admission, sessions), audit),
    /** Another token is in force: who came with the one before has to come again. */
    endSessions() {
      sessions.clear()
      streams.close()
    },
    close: () => streams.close(),
  }
}

const forwardRoutes = ({ service, replicas }: Pick<ApiDeps, "service" | "replicas">): ApiRoute[] =>
  (["pause", "resume"] as const).map((action) =>
    route(`POST /api/forwards/:id/${action}`, {
      summary:
        action === "pause"
          ? "Pauses a forward in all replicas within seconds, until it is resumed, also across restarts."
          : "Resumes a paused forward.",
      params: Type.Object({ id: Type.String({ maxLength: 400 }) }),
      async answer({ params: { id }, request }) {
        const elsewhere = rowOfReplica(replicas.answering(request), "forwards", id)
        if (elsewhere !== undefined) return elsewhere.client.ask(`${elsewhere.path}/${action}`, "POST")
        const forward = service.forwards().find((it) => it.id === id)
        if (forward === undefined) throw new ApiError(404, "no forward has this id")
        await forward.setPaused(action === "pause")
      },
    }),
  )

const reloadRoute = ({ service, replicas }: Pick<ApiDeps, "service" | "replicas">): ApiRoute =>
  route("POST /api/reload", {
    summary: "Reads the configuration again and changes to it, as SIGHUP does; 409 if it is refused.",
    query: Type.Object({
      replica: Type.Optional(
        Type.String({ maxLength: 400, description: "The address of the one to reload. Default: this one." }),
      ),
    }),
    response: Reloaded,
    async answer({ query: { replica }, request, connection, note }) {
      // thousands of pipelines take a minute
      connection.timeout(request, 0)
      if (replica !== undefined) {
        note({ replica })
        const found = replicas.current(request).find(({ name }) => name === replica)
        if (found === undefined) throw new ApiError(404, "no replica has this address")
        if (found.problem !== undefined) throw new ApiError(503, found.problem)
        return found.client.ask<Reloaded>("reload", "POST")
      }
      try {
        return { changed: await service.reload() }
      } catch (error) {
        if (!(error instanceof HooklineError) || error.code === "closing") throw error
        throw new ApiError(409, error.message)
      }
    },
  })

function logLevelRoutes({ service, replicas }: Pick<ApiDeps, "service" | "replicas">): ApiRoute[] {
  return [
    route("GET /api/log-level", {
      summary: "From which level on lines are logged.",
      response: LoggedLevel,
      answer: () => ({ level: service.logLevel() }),
    }),
    route("PUT /api/log-level", {
      summary: "Changes the level, in all replicas, until the next reload of each.",
      body: LoggedLevel,
      response: ChangedLevel,
      async answer({ body: { level }, request, note }) {
        note({ log_level: level })
        const changed = replicas.current(request).map(async ({ name, problem, client }) => {
          const isDone = problem === undefined && (await client.does("log-level", "PUT", { level }))
          return isDone ? [] : [name]
        })
        await service.setLogLevel(level)
        return { level: service.logLevel(), replicas_left_out: (await Promise.all(changed)).flat() }
      },
    }),
  ]
}
