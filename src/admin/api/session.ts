import { Type } from "typebox"
import { cookieOf, type Sessions } from "../sessions.ts"
import { ApiError } from "./problem.ts"
import { route, type Route } from "./route.ts"

/** @param isToken undefined: no token is configured */
export function sessionRoutes(
  sessions: Sessions,
  isToken: () => ((text: string) => boolean) | undefined,
): Route[] {
  return [
    route({
      method: "POST",
      path: "/api/session",
      summary: "Begins a session, whose cookie takes the place of the token.",
      isOpen: true,
      body: Type.Object({ token: Type.String({ maxLength: 4096 }) }),
      answer({ body: { token }, request }) {
        const test = isToken()
        const { waitS } = sessions
        if (waitS > 0)
          throw new ApiError(429, "too many wrong tokens; try again later", { "Retry-After": String(waitS) })
        if (test !== undefined && !test(token)) {
          sessions.failed()
          throw new ApiError(401, "this is not the token of [admin]")
        }
        return signed(cookieOf(request, sessions.begin()))
      },
    }),
    route({
      method: "DELETE",
      path: "/api/session",
      summary: "Ends the session.",
      isOpen: true,
      answer({ request }) {
        sessions.end(request)
        return signed(cookieOf(request, undefined))
      },
    }),
  ]
}

const signed = (cookie: string): Response =>
  new Response(null, { status: 204, headers: { "Set-Cookie": cookie, "Cache-Control": "no-store" } })
