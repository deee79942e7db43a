import { HooklineError } from "../errors.ts"
import { problem, REFUSALS } from "./answer.ts"
import { IDLE_TIMEOUT_S } from "./listener.ts"
import { newRequestId } from "./request-id.ts"
import type { Route } from "./route.ts"
import type { MountedFrom, Peer } from "./peer.ts"
import { dispatch, type RequestHandlers, targetOf } from "./routes.ts"

export class Mount {
  #handlers: RequestHandlers | undefined

  setHandlers(handlers: RequestHandlers): void {
    this.#handlers = handlers
  }

  /** @throws HooklineError `usage`, as a rejection, when the body was read before, or for another `from` */
  async fetch(request: Request, from: MountedFrom | undefined): Promise<Response> {
    const handlers = this.#handlers!
    if (request.bodyUsed)
      throw new HooklineError("usage", "the request's body was already read; pass the request on unread")
    const peer = peerOf(from)
    peer.timeout(request, IDLE_TIMEOUT_S)
    const target = targetOf(request.url)
    try {
      return await dispatch(handlers)(request, peer, target)
    } catch (error) {
      const id = newRequestId()
      handlers.failed(error, id)
      return problem(REFUSALS.internal, false, id)
    }
  }
}

function peerOf(from: MountedFrom | undefined): Peer {
  if (from === undefined) return UNKNOWN
  if (typeof from === "object" && from !== null) {
    if ("requestIP" in from && typeof from.requestIP === "function")
      return {
        requestIP: (request) => from.requestIP(request),
        timeout: (request, seconds) => from.timeout?.(request, seconds),
      }
    const { remoteAddress: address } = from as { readonly remoteAddress?: unknown }
    if (typeof address === "string") return { ...UNKNOWN, requestIP: () => ({ address }) }
    if ("remoteAddress" in from && address === undefined) return UNKNOWN
  }
  throw new HooklineError(
    "usage",
    "the second argument of fetch is { remoteAddress }, or the server that Bun.serve passes to its fetch; leave it out where the address is unknown",
  )
}

const UNKNOWN: Peer = { requestIP: () => null, timeout: () => {} }

/** The routes that share one path table without TLS. @throws HooklineError `config` for others without own ports */
export function mountable(routes: readonly Route[], haveOwnPorts: boolean): readonly Route[] {
  const byPath = Map.groupBy(routes, ({ path }) => path)
  if (haveOwnPorts)
    return routes.filter((route) => route.tls === undefined && byPath.get(route.path)!.length === 1)
  for (const { pipeline, path, tls } of routes) {
    const [first] = byPath.get(path)!
    const refuse = (why: string): never => {
      const option = `in code: pipeline ${JSON.stringify(pipeline)}, webHookSource, option`
      throw new HooklineError("config", `${option} ${why}`)
    }
    if (tls !== undefined)
      refuse(
        "tlsCertificate: has no effect in a mounted application; configure TLS in that server, or start the application with its own ports",
      )
    if (first!.pipeline !== pipeline)
      refuse(
        `path: ${path} is that of pipeline ${JSON.stringify(first!.pipeline)} too; a mounted application has no ports to distinguish them`,
      )
  }
  return routes
}
