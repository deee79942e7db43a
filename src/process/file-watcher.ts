import { statSync, type BigIntStats } from "node:fs"
import { stat } from "node:fs/promises"

const EVERY_MS = 500

/**
 * Watches files by polling. This covers what file-system notifications miss: a rename over a file, a symbolic link
 * replaced anywhere in its path (Kubernetes' `..data`), a file that comes or goes, a network mount. A change is reported
 * once nothing has changed since the previous poll, so that files are not read half written.
 *
 * @param files absolute paths, each with its stamp at reading; called for each poll
 * @param changed called once for a change, and awaited; never rejects
 * @returns ends the watch
 */
export function watchFiles(
  files: () => ReadonlyMap<string, string>,
  changed: () => Promise<void>,
): () => void {
  let last = ""
  let reported = ""
  let timer: Timer | undefined
  let ended = false
  const look = async (): Promise<void> => {
    const read = [...files()]
    const stamps = await Promise.all(read.map(([file]) => stampOf(file)))
    if (ended) return
    const now = stamps.join("\n")
    if (now === last && now !== reported && stamps.some((stamp, at) => stamp !== read[at]![1])) {
      reported = now
      await changed()
    }
    last = now
    if (!ended) timer = setTimeout(() => void look(), EVERY_MS)
  }
  timer = setTimeout(() => void look(), EVERY_MS)
  return () => {
    ended = true
    clearTimeout(timer)
  }
}

/** Changes whenever the file's content may have: inode, size and times, or the error code. */
export const stampOf = (file: string): Promise<string> => stat(file, { bigint: true }).then(describe, failure)

/** Records a stamp of each file read; the first counts. */
export const recordIn =
  (inputs: Map<string, string>) =>
  (file: string): void => {
    if (!inputs.has(file)) inputs.set(file, stampNow(file))
  }

/** As `stampOf`, at once. */
export function stampNow(file: string): string {
  try {
    return describe(statSync(file, { bigint: true }))
  } catch (error) {
    return failure(error)
  }
}

const describe = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(" ")

const failure = (error: unknown): string => String((error as NodeJS.ErrnoException).code)
