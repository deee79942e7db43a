import { afterAll, beforeAll } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endingWithThisProcess, runToEnd, type Ended } from "./child.ts"
import { PROGRAM } from "./program.ts"
import { HooklineLog, type LogLine, type Started } from "./started.ts"

export type { LogLine, Started }

/** What a Hookline that a test leaves running is given to stop. */
const DISPOSED_WITHIN_MS = 5000
/** What `bun --no-orphans` hands down to its children. */
export const WITHOUT_NO_ORPHANS = { BUN_FEATURE_FLAG_NO_ORPHANS: undefined }
const root = join(import.meta.dir, "..", "..")

/** A Hookline that runs as a process of its own, as its users run it. */
export interface RunningHookline extends Started {
  readonly pid: number
  signal(signal: NodeJS.Signals): void
  /** Resolves with the exit status, or the name of the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>
  /** SIGTERM, then the end. */
  stop(): Promise<number | NodeJS.Signals>
}

/** A configuration whose sources and admin server have a free port of the loopback address each, where it says nothing else. */
export function onFreePorts(configuration: string): string {
  const parts = ["[defaults:WebHookSource]\nhost = 127.0.0.1\nport = 0\n", "[admin]\nlisten = 127.0.0.1:0\n"]
  const missing = parts.filter((part) => !configuration.includes(part.slice(0, part.indexOf("\n"))))
  return [configuration, ...missing].join("\n")
}

/**
 * Starts `hookline run` on a configuration, `onFreePorts`, and waits until it listens. `folder` is the file's folder; `descriptors`, how
 * many it may have open; `program`, what runs in place of `PROGRAM`; `command`, in place of all the command
 * line; `take`, what is given each line of the log first, and says whether it is not to be kept.
 */
export async function startHookline(
  configuration: string,
  options: {
    folder: string
    env?: { [name: string]: string }
    args?: readonly string[]
    descriptors?: number
    program?: readonly string[]
    command?: readonly string[]
    take?: (line: LogLine) => boolean
  },
): Promise<RunningHookline> {
  const file = join(options.folder, "pipelines.conf")
  await Bun.write(file, onFreePorts(configuration))
  const args = ["run", "-c", file, ...(options.args ?? [])]
  const { descriptors, program = PROGRAM } = options
  const limited = descriptors === undefined ? [] : ["sh", "-c", 'ulimit -n "$0"; exec "$@"', `${descriptors}`]
  const command = endingWithThisProcess(...limited, ...(options.command ?? [...program, ...args]))
  const child = Bun.spawn(command, {
    cwd: options.folder,
    env: { ...process.env, ...WITHOUT_NO_ORPHANS, ...options.env },
    stdout: "pipe",
    stderr: "pipe",
  })
  const logged = new HooklineLog()
  const exited = child.exited.then((status) => child.signalCode ?? status)
  const readLog = async (): Promise<void> => {
    let rest = ""
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
      rest = lines.pop()!
      for (const line of lines) {
        const entry = JSON.parse(line) as LogLine
        if (options.take?.(entry) !== true) logged.take(line, entry)
      }
    }
  }
  const readErrors = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stderr) logged.takeText(decoder.decode(bytes, { stream: true }))
  }
  const done = Promise.all([readLog(), readErrors()]).then(() => logged.end())

  const stop = async (): Promise<number | NodeJS.Signals> => {
    child.kill("SIGTERM")
    const status = await exited
    await done
    return status
  }

  await logged.logged((line) => line.msg === "started")
  return {
    pid: child.pid,
    urls: logged.urls,
    get adminUrl() {
      return logged.adminUrl
    },
    log: logged.log,
    logged: logged.logged,
    output: logged.output,
    signal: (signal) => child.kill(signal),
    readAgain: () => child.kill("SIGHUP"),
    exited,
    stop,
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => child.kill("SIGKILL"), DISPOSED_WITHIN_MS)
      await stop()
      clearTimeout(timer)
    },
  }
}

/** Writes another configuration over the one that it was started with, has it read and waits for what becomes of it. */
export async function reload(
  running: Started,
  folder: string,
  configuration: string,
): Promise<"reloaded" | "not"> {
  await Bun.write(join(folder, "pipelines.conf"), onFreePorts(configuration))
  const ends = ({ msg }: LogLine): boolean => msg === "reloaded" || msg.startsWith("reload failed")
  const before = running.log.filter(ends).length
  running.readAgain()
  await running.logged(() => running.log.filter(ends).length > before)
  return running.log.findLast(ends)!.msg === "reloaded" ? "reloaded" : "not"
}

/** Becomes a user without rights, from root. */
const UNPRIVILEGED =
  process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []

/** Runs `hookline` with arguments to its end; `unprivileged`: not as root. */
export const hookline = (
  args: readonly string[],
  {
    cwd = root,
    env,
    unprivileged = false,
    stdin,
  }: { cwd?: string; env?: { [name: string]: string }; unprivileged?: boolean; stdin?: Uint8Array } = {},
): Promise<Ended> => {
  const command = [...(unprivileged ? UNPRIVILEGED : []), ...PROGRAM]
  return runToEnd(endingWithThisProcess(...command, ...args), {
    cwd,
    env: { ...process.env, ...env },
    ...(stdin !== undefined && { stdin }),
  })
}

/** A folder that tests write into. */
export interface TemporaryFolder extends Disposable {
  readonly path: string
  /** Makes a folder in it, and gives its path. */
  make(name: string): string
}

/**
 * A folder for one test that is gone after it, `using folder = temporaryFolder()`; it is made when it is first used, also after
 * it was disposed of, so that each test can have its own.
 */
export function temporaryFolder(): TemporaryFolder {
  let path: string | undefined
  const folder = (): string => (path ??= mkdtempSync(join(tmpdir(), "hookline-test-")))
  return {
    get path() {
      return folder()
    },
    make(name) {
      const made = join(folder(), name)
      mkdirSync(made)
      return made
    },
    [Symbol.dispose]() {
      if (path !== undefined) rmSync(path, { recursive: true, force: true })
      path = undefined
    },
  }
}

/**
 * What the tests of the file, or of the `describe`, share: made before them and disposed of after them, and `rest` then. It has
 * its members while they run.
 */
export function sharedByTests<T extends AsyncDisposable>(make: () => Promise<T>, rest?: Disposable): T {
  let made: T | undefined
  beforeAll(async () => {
    made = await make()
  })
  afterAll(async () => {
    await made?.[Symbol.asyncDispose]()
    rest?.[Symbol.dispose]()
  })
  return new Proxy<T>({} as T, {
    get(_, name) {
      const member: unknown = Reflect.get(made!, name, made)
      return typeof member === "function" ? (member.bind(made) as unknown) : member
    },
  })
}

/** A folder that is gone after the tests of the file, or of the `describe`, that makes it. */
export function folderOfTests(): TemporaryFolder {
  const folder = temporaryFolder()
  afterAll(() => folder[Symbol.dispose]())
  return folder
}
