interface Line {
  readonly [key: string]: unknown
}

/**
 * A line about one request, with its fields in the message, for a terminal: `event rejected: 401 payments
 * unverified_no_match, POST /payments from 192.0.2.7, request 4f0k2m9x-1c: no secret gives this signature`. Other lines,
 * and further fields, stay as they are.
 */
export function requestSentence(line: Line): Line {
  const { msg, status, pipeline, reason, method, path, remote_address: from, request_id: id, ...more } = line
  if (from === undefined || path === undefined || reason === undefined) return line
  const { detail, ...rest } = more
  const what = [status, pipeline, reason].filter((it) => it !== undefined).join(" ")
  const why = detail === undefined ? "" : `: ${detail as string}`
  return { ...rest, msg: `${msg as string}: ${what}, ${method} ${path} from ${from}, request ${id}${why}` }
}
