import { type AdminAccess, Sessions, type WrongTokens } from "../access.ts"
import type { Act } from "../audit.ts"
import type { Sampler } from "../sampler.ts"
import type { Service } from "../service.ts"
import { captureRoutes } from "./captures.ts"
import { EventStreams } from "./event-stream.ts"
import { admitBy } from "./gate.ts"
import { Live } from "./live.ts"
import { openApiRoute } from "./openapi.ts"
import { overviewRoutes } from "./overview.ts"
import { recordRoutes } from "./records.ts"
import { replayRoutes } from "./replays.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute, answerBy } from "./route.ts"
import { sendRoutes } from "./send.ts"
import { sessionRoutes } from "./session.ts"
import { Type } from "./shape.ts"
import { LoggedLevel } from "./shapes.ts"
import { injectionRoute } from "./submit.ts"

export interface ApiDeps {
  readonly service: Service
  readonly sampler: Sampler
  readonly admission: () => AdminAccess
  readonly wrongTokens: WrongTokens
  readonly failed: (error: unknown) => void
  readonly audit: (act: Act) => void
  /** Whether a supervisor alone asks. */
  readonly isWorker: boolean
}

/** The admin API of one listener. */
export function makeApi({ service, sampler, admission, wrongTokens, failed, audit, isWorker }: ApiDeps) {
  const streams = new EventStreams()
  const sessions = new Sessions()
  const deps = { service, sampler, streams, failed }
  const routes = [
    ...overviewRoutes(deps),
    new Live(deps).route,
    ...recordRoutes(deps),
    ...captureRoutes(service),
    ...sendRoutes(service),
    ...replayRoutes(service.replays),
    ...forwardRoutes(service),
    ...logLevelRoutes(service),
    ...sessionRoutes(sessions, wrongTokens, admission),
    ...(isWorker ? [injectionRoute(service)] : []),
  ]
  return {
    answer: answerBy([...routes, openApiRoute(routes)], admitBy(admission, sessions), audit),
    /** Another token is in force: who came with the one before has to come again. */
    endSessions() {
      sessions.clear()
      streams.close()
    },
    close: () => streams.close(),
  }
}

const forwardRoutes = (service: Service): ApiRoute[] =>
  (["pause", "resume"] as const).map((action) =>
    route(`POST /api/forwards/:id/${action}`, {
      summary:
        action === "pause"
          ? "Pauses a forward until it is resumed, also across restarts and at replicas, within seconds."
          : "Resumes a paused forward.",
      params: Type.Object({ id: Type.String({ maxLength: 249 }) }),
      async answer({ params: { id } }) {
        const forward = service.forwards().find((it) => it.id === id)
        if (forward === undefined) throw new ApiError(404, "no forward has this id")
        await forward.setPaused(action === "pause")
      },
    }),
  )

function logLevelRoutes(service: Service): ApiRoute[] {
  return [
    route("GET /api/log-level", {
      summary: "From which level on lines are logged.",
      response: LoggedLevel,
      answer: () => ({ level: service.logLevel() }),
    }),
    route("PUT /api/log-level", {
      summary: "Changes the level, in all workers, until the next reload.",
      body: LoggedLevel,
      response: LoggedLevel,
      async answer({ body: { level }, note }) {
        note({ log_level: level })
        await service.setLogLevel(level)
        return { level: service.logLevel() }
      },
    }),
  ]
}
