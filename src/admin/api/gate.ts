import type { AdminAccess, Sessions } from "../access.ts"
import { ApiError } from "./problem.ts"
import type { Admit } from "./route.ts"

/**
 * Admits callers with the token, or with a session's cookie. A page of another site can make a browser send requests, with
 * the cookie or, on loopback, without any: those that change something must come from the API's own origin and be JSON,
 * which a form can't be. A script with the token sends no Origin.
 */
export function admitBy(admission: () => AdminAccess, sessions: Sessions): Admit {
  return (request, { method, body, isOpen = false }) => {
    if (isOtherSite(request)) throw new ApiError(403, "requests of other sites are refused")
    const token = admission().tokenOf(request) ?? sessions.tokenOf(request)
    if (!isOpen && token === undefined)
      throw new ApiError(401, "a token is required: Authorization: Bearer, or POST /api/session", {
        "WWW-Authenticate": "Bearer",
      })
    if (method !== "GET" && body !== undefined && !isJson(request))
      throw new ApiError(415, "Content-Type must be application/json")
    return token ?? "none"
  }
}

/** Whether a browser sends it for another site's page: by Origin, and by Sec-Fetch-Site where there is one. */
function isOtherSite({ headers, method }: Request): boolean {
  const origin = headers.get("origin")
  const site = headers.get("sec-fetch-site")
  if (origin !== null && !isOwnOrigin(origin, headers.get("host"))) return true
  // a link from elsewhere may open the page, and its answers are not readable
  if (site === null || site === "same-origin" || site === "none") return false
  return method !== "GET" || headers.get("sec-fetch-mode") !== "navigate"
}

/** Whether a browser sends it for the page of this listener, or a script that says so by its Origin. */
export const isOwnPage = ({ headers }: Request): boolean =>
  headers.get("sec-fetch-site") === "same-origin" ||
  isOwnOrigin(headers.get("origin") ?? "", headers.get("host"))

/** Browsers always send a Host. */
function isOwnOrigin(origin: string, host: string | null): boolean {
  const own = host === null ? null : URL.parse(`http://${host}`)
  return own !== null && URL.parse(origin)?.host === own.host
}

const isJson = ({ headers }: Request): boolean =>
  /^application\/json\s*(;|$)/i.test(headers.get("content-type") ?? "")
