import type { Steps } from "../clock/slices.ts"
import { formatEndpoint } from "../config/sections/endpoint.ts"
import { HooklineError } from "../errors.ts"
import type { Rejected } from "../pipeline/outcome.ts"
import { problem, REFUSALS } from "./answer.ts"
import { makeEndpoint, type EndpointDeps } from "./endpoint.ts"
import type { RequestHandlers } from "./listener.ts"
import { ReceivedRequest } from "./received-request.ts"
import type { Route } from "./route.ts"
import { PathTable, type Endpoint } from "./routes.ts"

/** The handlers of routes that share a listener. @throws HooklineError `config` when they conflict */
export function* requestHandlers(routes: readonly Route[], deps: EndpointDeps): Steps<RequestHandlers> {
  const endpoints = new PathTable<Endpoint>()
  for (const route of routes) {
    yield
    const first = routes[0]!
    const at = `pipelines ${first.pipeline} and ${route.pipeline} share ${formatEndpoint(route)}`
    if (!Bun.deepEquals(route.tls, first.tls))
      throw new HooklineError("config", `${at}, but not their TLS settings`)
    if (!endpoints.add(route.path, makeEndpoint(route, deps)))
      throw new HooklineError(
        "config",
        `several pipelines have the path ${route.path} on ${formatEndpoint(route)}`,
      )
  }
  return {
    endpoints,
    unknownPath: refusing(REFUSALS.unknown_path, deps),
    notNormal: refusing(REFUSALS.path_not_normal, deps),
    failed: (error, requestId) => deps.outcomes(undefined).failed(error, { id: requestId }),
  }
}

function refusing(refusal: Rejected, { outcomes }: EndpointDeps): Endpoint {
  const outcomeLog = outcomes(undefined)
  return (request, server, target) => {
    const info = new ReceivedRequest(request, server, target, undefined)
    outcomeLog.answered(refusal.status, refusal, info)
    return problem(refusal, false, info.id)
  }
}
