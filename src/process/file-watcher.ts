import { statSync, type BigIntStats } from "node:fs"
import { stat } from "node:fs/promises"
import { pause } from "../clock/clock.ts"

const EVERY_MS = 500

/**
 * Watches files by polling. This covers what file-system notifications miss: a rename over a file, a symbolic link
 * replaced anywhere in its path (Kubernetes' `..data`), a file that comes or goes, a network mount. A change is reported
 * once nothing has changed since the previous poll, so that files are not read half written.
 *
 * @param files absolute paths, each with its stamp at reading; called for each poll
 * @param changed called once for a change, and awaited; never rejects
 * @param signal ends the watch
 */
export async function watchFiles(
  files: () => ReadonlyMap<string, string>,
  changed: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let last = ""
  let reported = ""
  for (;;) {
    await pause(EVERY_MS, signal)
    const read = [...files()]
    const stamps: string[] = []
    // one at a time: a file system that does not answer keeps one thread, and the watch until it does
    for (const [file] of read) stamps.push(await stampOf(file))
    if (signal.aborted) return
    const now = stamps.join("\n")
    if (now === last && now !== reported && stamps.some((stamp, at) => stamp !== read[at]![1])) {
      reported = now
      await changed()
    }
    last = now
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
