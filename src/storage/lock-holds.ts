import { fstatSync, readdirSync, readFileSync, statfsSync, statSync, type Stats } from "node:fs"
import { dirname, resolve } from "node:path"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { DatabaseLocation } from "./database-file.ts"

/*
 * Locks that do nothing: some network file systems, FUSE servers and emulations of Linux grant every process the lock that it
 * asks for. SQLite notices a second connection of the same process without them, so another process has to be asked.
 *
 * Linux lists the locks of a descriptor in /proc/self/fdinfo: one that stands there keeps the other processes of this machine
 * from it. Where it does not stand there, a child tries to take it, once for each file system.
 */

type Place = Pick<DatabaseLocation, "lockFile" | "title" | "alternative">

/** Checks that the lock that this process has just taken keeps others from it. Writes nothing. @throws HooklineError `log_io` */
export function checkLockHolds({ lockFile, title, alternative }: Place): void {
  const lock = statSync(lockFile)
  if (holding.has(lock.dev) || isListed(lock)) return
  if (canBeTaken(lockFile)) {
    const kind = fileSystemOf(lockFile)
    const where = kind === undefined ? "its file system" : `its file system (${kind})`
    throw new HooklineError(
      "log_io",
      `${title} can't be locked: ${where} grants a lock to a second process while the first one has it, so that two would write to the same file and destroy it; mount it with locks that work (NFS without nolock and local_lock, CIFS without nobrl), or name ${alternative}, on a local disk`,
    )
  }
  holding.add(lock.dev)
}

/** Devices whose locks were tried by a child, and hold. */
const holding = new Set<number>()

/** Whether Linux lists a lock of this process on a file. */
function isListed(file: Stats): boolean {
  let descriptors: string[]
  try {
    descriptors = readdirSync("/proc/self/fd")
  } catch {
    return false
  }
  // the newest first, mostly
  return descriptors
    .toReversed()
    .some((descriptor) => isSame(Number(descriptor), file) && hasWriteLock(descriptor))
}

function isSame(descriptor: number, { dev, ino }: Stats): boolean {
  try {
    const stat = fstatSync(descriptor)
    return stat.ino === ino && stat.dev === dev
  } catch {
    // it was closed meanwhile
    return false
  }
}

function hasWriteLock(descriptor: string): boolean {
  try {
    const lines = readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8").split("\n")
    return lines.some((it) => it.startsWith("lock:") && it.includes("POSIX") && it.includes("WRITE"))
  } catch {
    return false
  }
}

const TAKEN = 0
const CHILD_MS = 10_000
const TAKE = `
const { Database } = require("bun:sqlite")
const db = new Database(process.env.HOOKLINE_LOCK_FILE, { readwrite: true, create: false })
db.run("PRAGMA journal_mode = MEMORY")
db.run("BEGIN EXCLUSIVE")`

/** Whether a child gets the lock, too; false where it can't be asked. */
function canBeTaken(lockFile: string): boolean {
  try {
    const { exitCode } = Bun.spawnSync([process.execPath, "-e", TAKE], {
      // an executable of Hookline's runs programs, too
      env: { ...process.env, BUN_BE_BUN: "1", HOOKLINE_LOCK_FILE: resolve(lockFile) },
      // where no settings of Bun lie
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore"],
      timeout: CHILD_MS,
    })
    return exitCode === TAKEN
  } catch {
    return false
  }
}

/** Types of statfs(2) by which other machines may have the same files, or a program decides about locks. */
const FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9p"],
  [0x65735546, "FUSE"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x5346414f, "AFS"],
  [0x47504653, "GPFS"],
])

/** The kind of the file system of a path, if that is a network's or a program's. */
function fileSystemOf(path: string): string | undefined {
  if (process.platform !== "linux") return undefined
  try {
    return FILE_SYSTEMS.get(statfsSync(dirname(path)).type >>> 0)
  } catch {
    return undefined
  }
}

/** Logs that a database is on a file system that other machines may have, too. */
export function warnOfNetwork({ lockFile, title }: Place, log: Logger): void {
  const kind = fileSystemOf(lockFile)
  if (kind === undefined || kind === "FUSE") return
  log.warn(
    { file_system: kind },
    `${title} is on a network file system (${kind}): whether its lock keeps other machines from it is not known here, and its fsyncs are the server's; keep it on a local disk`,
  )
}
