import { Type } from "./shape.ts"
import { type AdminAccess, cookieOf, type Sessions, type WrongTokens } from "../access.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute } from "./route.ts"
import { Caller } from "./shapes.ts"

export function sessionRoutes(
  sessions: Sessions,
  wrongTokens: WrongTokens,
  admission: () => AdminAccess,
): ApiRoute[] {
  return [
    route("GET /api/session", {
      summary: "Which token the caller has, and whether it may act.",
      response: Caller,
      answer: ({ token }) => ({ token, may_act: token !== "read_token" }),
    }),
    route("POST /api/session", {
      summary: "Begins a session, whose cookie takes the place of the token.",
      isOpen: true,
      body: Type.Object({ token: Type.String({ maxLength: 4096 }) }),
      async answer({ body: { token }, request, connection }) {
        const name = admission().tokenIn(token)
        if (name === undefined) {
          const waitS = await wrongTokens.count(connection.requestIP(request)?.address ?? "")
          throw waitS > 0 ? tooManyWrong(waitS) : new ApiError(401, "this is not a token of [admin]")
        }
        return signed(cookieOf(request, sessions.begin(name)))
      },
    }),
    route("DELETE /api/session", {
      summary: "Ends the session.",
      isOpen: true,
      answer({ request }) {
        sessions.end(request)
        return signed(cookieOf(request, undefined))
      },
    }),
  ]
}

/** @param waitS until the address may try another */
export const tooManyWrong = (waitS: number): ApiError =>
  new ApiError(429, "too many wrong tokens; try again later", { "Retry-After": String(waitS) })

const signed = (cookie: string): Response =>
  new Response(null, { status: 204, headers: { "Set-Cookie": cookie, "Cache-Control": "no-store" } })
