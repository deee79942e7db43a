import type { Service } from "../service.ts"
import { route, type Route } from "./route.ts"
import { LogLevel } from "./shapes.ts"

export function logLevelRoutes(service: Service): Route[] {
  return [
    route({
      method: "GET",
      path: "/api/log-level",
      summary: "From which level on lines are logged.",
      response: LogLevel,
      answer: () => ({ level: service.logLevel() }),
    }),
    route({
      method: "PUT",
      path: "/api/log-level",
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
