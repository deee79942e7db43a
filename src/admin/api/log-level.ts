import type { Service } from "../service.ts"
import { route, type ApiRoute } from "./route.ts"
import { LoggedLevel } from "./shapes.ts"

export function logLevelRoutes(service: Service): ApiRoute[] {
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
      async answer({ body: { level } }) {
        await service.setLogLevel(level)
        return { level: service.logLevel() }
      },
    }),
  ]
}
