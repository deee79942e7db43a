/** What came over a connection, read as HTTP/1.1 answers (RFC 9112). */
export interface Answers {
  /** Statuses in their order, without 100. */
  readonly statuses: readonly number[]
  /** Whether all that came are whole answers. */
  readonly whole: boolean
  /** Why what came is no answer; undefined: it is one, or the beginning of one. */
  readonly malformed: string | undefined
}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3})(?: [\x20-\x7e]*)?$/
const HEADER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\x20-\x7e\t]*$/

/** @param text a character a byte */
export function readAnswers(text: string): Answers {
  const statuses: number[] = []
  let at = 0
  while (at < text.length) {
    const end = text.indexOf("\r\n\r\n", at)
    if (end === -1) return { statuses, whole: false, malformed: undefined }
    const [statusLine, ...headers] = text.slice(at, end).split("\r\n")
    const status = Number(STATUS_LINE.exec(statusLine!)?.[1])
    if (Number.isNaN(status)) return { statuses, whole: false, malformed: statusLine! }
    const wrong = headers.find((line) => !HEADER_LINE.test(line))
    if (wrong !== undefined) return { statuses, whole: false, malformed: wrong }
    at = end + 4
    if (status === 100) continue
    statuses.push(status)
    const length = headers.map((line) => /^content-length: *(\d+)$/i.exec(line)?.[1]).find(Boolean)
    at += Number(length ?? 0)
    if (at > text.length) return { statuses, whole: false, malformed: undefined }
  }
  return { statuses, whole: true, malformed: undefined }
}
