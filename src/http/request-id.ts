import { randomBytes } from "node:crypto"

/** Tells processes apart, also those of other machines: 40 random bits. */
const PROCESS = BigInt(`0x${randomBytes(5).toString("hex")}`)
  .toString(36)
  .padStart(8, "0")
let requests = 0

/** A request's id, such as `4f0k2m9x-1c`: unique in this process, and as good as unique beyond it. */
export const newRequestId = (): string => `${PROCESS}-${(++requests).toString(36)}`

/** What an id of a proxy's may be, so that it fits into a log line, a header and a shell's quotes. */
const SANE = /^[\w.:+/=@-]{1,128}$/

/** The id that a trusted proxy gave, in `X-Request-Id`; undefined: none, several, or one with other characters. */
export function proxyRequestId(headers: Headers): string | undefined {
  const given = headers.get("x-request-id")
  return given !== null && SANE.test(given) ? given : undefined
}
