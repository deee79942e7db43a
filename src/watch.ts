import { lookAt } from "./config/file-stamp.ts"

/** How often files are looked at. */
const EVERY_MS = 500

/**
 * Watches files by looking at them: a rename over one, a symbolic link that is turned anywhere on its way (as Kubernetes
 * does with `..data`), a file that goes or comes and a mount from another machine all count, which notifications of the
 * file system don't tell of. Files that are still being written are waited for: a change is told when nothing has
 * changed since the look before.
 *
 * @param files those to look at, as absolute paths, each with its stamp of when it was read; asked anew each time
 * @param changed is told once of a change, and waited for; never rejects
 * @returns ends the watch
 */
export function watchFiles(
  files: () => ReadonlyMap<string, string>,
  changed: () => Promise<void>,
): () => void {
  let last = ""
  let told = ""
  let timer: Timer | undefined
  let ended = false
  const look = async (): Promise<void> => {
    const read = [...files()]
    const stamps = await Promise.all(read.map(([file]) => lookAt(file)))
    if (ended) return
    const now = stamps.join("\n")
    if (now === last && now !== told && stamps.some((stamp, at) => stamp !== read[at]![1])) {
      told = now
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
