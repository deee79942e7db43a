import type { Service } from "../service.ts"
import { route, type ApiRoute } from "./route.ts"
import { LogLevel } from "./shapes.ts"

export function logLevelRoutes(service: Service): ApiRoute[] {
  return [
    route("GET /api/log-level", {
      summary: "From which level on lines are logged.",
      response: LogLevel,
      answer: () => ({ level: service.logLevel() }),
    }),
    route("PUT /api/log-level", {
      summary: "Changes the level, in all workers, until the next reload.",
      body: LogLevel,
      response: LogLevel,
      async answer({ body: { level } }) {
        await service.setLogLevel(level)
        return { level: service.logLevel() }
      },
    }),
  ]
}
