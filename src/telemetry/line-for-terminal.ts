import { painter, type Style } from "../process/colours.ts"
import { escapeControls, escapeLine } from "./escape-controls.ts"

interface Line {
  readonly [key: string]: unknown
}

const STYLES: { readonly [level: string]: Style } = {
  fatal: "bgRed",
  error: "red",
  warn: "yellow",
  info: "green",
  debug: "blue",
  trace: "gray",
}

/**
 * Makes a JSON line one for people: the local time, the level, the message, further fields as JSON, and the stack of an error
 * in lines of its own. One about a request is a sentence. Control characters are escaped.
 */
export function lineForTerminal(coloured: boolean): (line: string) => string {
  const paint = painter(coloured)
  return (line) => {
    const { level, time, msg, err, ...fields } = requestSentence(JSON.parse(line) as Line)
    const { stack, ...error } = isError(err) ? withoutRepetition(err) : { err }
    const rest = escapeControls(JSON.stringify({ ...fields, ...error }))
    const parts = [
      `[${localTime(new Date(time as string))}]`,
      `${paint(STYLES[level as string]!, (level as string).toUpperCase())}:`,
      paint("cyan", escapeLine((msg ?? "") as string)),
      ...(rest === "{}" ? [] : [paint("gray", rest)]),
    ]
    // it keeps its line breaks
    const own = stack === undefined ? "" : escapeControls(`\n${stack}`).replaceAll("\n", "\n    ")
    return `${parts.join(" ")}${own}\n`
  }
}

/** `14:03:07.123` */
const localTime = (at: Date): string =>
  `${at.toTimeString().slice(0, "14:03:07".length)}.${String(at.getMilliseconds()).padStart(3, "0")}`

interface LoggedError extends Line {
  readonly stack: string
}

const isError = (err: unknown): err is LoggedError =>
  typeof err === "object" && err !== null && typeof (err as Partial<LoggedError>).stack === "string"

/** An error's stack, and under `err` those of its fields that the stack does not have. */
function withoutRepetition({ stack, type, message, ...more }: LoggedError): {
  readonly stack: string
  readonly err?: Line
} {
  const missing = Object.entries({ type, message }).filter(([, it]) => !stack.includes(String(it)))
  const err = { ...Object.fromEntries(missing), ...more }
  return { stack, ...(Object.keys(err).length === 0 ? {} : { err }) }
}

/**
 * A line about one request, with its fields in the message: `event rejected: 401 payments unverified_no_match, POST /payments
 * from 192.0.2.7, request 4f0k2m9x-1c: no secret gives this signature`. Other lines, and further fields, stay as they are.
 */
function requestSentence(line: Line): Line {
  const { msg, status, pipeline, reason, method, path, remote_address: from, request_id: id, ...more } = line
  if (from === undefined || path === undefined || reason === undefined) return line
  const { detail, ...rest } = more
  const what = [status, pipeline, reason].filter((it) => it !== undefined).join(" ")
  const why = detail === undefined ? "" : `: ${detail as string}`
  return { ...rest, msg: `${msg as string}: ${what}, ${method} ${path} from ${from}, request ${id}${why}` }
}
