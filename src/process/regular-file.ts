import { closeSync, constants, fstatSync, openSync, readFileSync, statSync, type Stats } from "node:fs"
import { open, readdir, stat } from "node:fs/promises"
import type { Steps } from "../clock/slices.ts"
import { HooklineError } from "../errors.ts"
import { within } from "../clock/clock.ts"

/*
 * How files that the configuration names are read, at a start and at each reload: regular files only, since a pipe or a
 * device may keep the reader for ever; and, by what can wait, once they have answered off the event loop, since a file
 * system whose server is gone keeps the thread that asks it.
 */

/** Reads a regular file. @throws Error `ENOTREG` for one of another kind, whose message follows its name; of the system */
export function readRegularFile(path: string): Buffer {
  // before it is opened: that of a device may have an effect
  checkIsRegular(statSync(path))
  const descriptor = openSync(path, NOT_WAITING)
  try {
    checkIsRegular(fstatSync(descriptor))
    return readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** To open a pipe that has taken the file's place does not wait for a writer. */
const NOT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK

function checkIsRegular(stats: Stats): void {
  // a folder fails as it is read
  if (stats.isFile() || stats.isDirectory()) return
  const kind = stats.isFIFO() ? "a pipe" : stats.isSocket() ? "a socket" : "a device"
  throw Object.assign(new Error(`is ${kind}, not a regular file`), { code: "ENOTREG" })
}

/** A file or folder that does not answer. */
export class Unanswered extends HooklineError {
  readonly path: string

  constructor(path: string) {
    super(
      "no_input",
      `${path} can't be read: its file system has not answered for ${ANSWER_MS / 1000} s; is it mounted from a server that is gone?`,
    )
    this.path = path
  }
}

const ANSWER_MS = 5000
/** After that a process asks, too: DNS lookups without an answer occupy the few threads that read files. */
const THREADS_MS = 1000

/** Waits, where the caller can, until these files and folders have answered. @throws Unanswered */
export function* answering(paths: Iterable<string>): Steps<void> {
  for (const path of paths) yield () => answers(path)
}

/** The first that has not answered: what asks keeps a thread of few until it does, so that nothing else is asked meanwhile. */
let asking: { readonly path: string; readonly answered: Promise<unknown> } | undefined

/** Resolves once it was read, or can't be. @throws Unanswered */
async function answers(path: string): Promise<void> {
  if (asking !== undefined) await inTime(asking.path, asking.answered)
  const asker = new AbortController()
  const touched = touch(path)
  const answered = within(THREADS_MS, touched, () =>
    Promise.race([touched, touchElsewhere(path, asker.signal)]),
  )
  await inTime(path, answered).finally(() => asker.abort())
}

async function inTime(path: string, answered: Promise<unknown>): Promise<void> {
  const isLate = await within(ANSWER_MS, answered, () => LATE)
  if (isLate !== LATE) return
  asking = { path, answered: answered.finally(() => (asking = undefined)) }
  throw new Unanswered(path)
}

const LATE = Symbol("late")

/** Never rejects: who reads it next says why it can't be read. */
async function touch(path: string): Promise<void> {
  try {
    const stats = await stat(path)
    if (stats.isDirectory()) await readdir(path)
    else if (stats.isFile()) {
      await using file = await open(path, NOT_WAITING)
      if ((await file.stat()).isFile()) await file.readFile()
    }
  } catch {
    // as above
  }
}

/** Does what `touch` does in a process of its own, as far as there is a shell. @param signal ends it, and it never resolves */
async function touchElsewhere(path: string, signal: AbortSignal): Promise<void> {
  const script = '[ -f "$1" ] && exec cat -- "$1"; [ -d "$1" ] && exec ls -- "$1"'
  const silent = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const
  try {
    await Bun.spawn(["sh", "-c", script, "sh", path], { ...silent, signal, killSignal: "SIGKILL" }).exited
    if (!signal.aborted) return
  } catch {
    // without a shell the threads alone are asked
  }
  await new Promise<never>(() => {})
}
