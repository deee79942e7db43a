import type { StatsFs } from "node:fs"
import { statfs } from "node:fs/promises"
import { steadyMs, within } from "../../clock/clock.ts"
import type { SpoolState } from "../../brokers/broker.ts"
import { rounded } from "../pipeline-history.ts"

/** How long a disk has to answer. */
const DISK_MS = 250
/** How old an answer may be: overviews are made each second, and asking costs more than most of the rest of them. */
const KEPT_MS = 5000

interface Asked {
  readonly answer: Promise<StatsFs | undefined>
  /** Infinity until it has answered: a mount whose server is gone never does, and is not asked again. */
  untilMs: number
}
const askedDisks = new Map<string, Asked>()

function askDisk(folder: string, ask: typeof statfs): Promise<StatsFs | undefined> {
  const asked = askedDisks.get(folder)
  const { answer } = asked !== undefined && steadyMs() < asked.untilMs ? asked : askAgain(folder, ask)
  return within(DISK_MS, answer, () => undefined)
}

function askAgain(folder: string, ask: typeof statfs): Asked {
  const answer = ask(folder).catch(() => undefined)
  const asked: Asked = { answer, untilMs: Infinity }
  askedDisks.set(folder, asked)
  void answer.finally(() => (asked.untilMs = steadyMs() + KEPT_MS))
  return asked
}

/** The share of a disk, or of a spool's own limit, that is in use; null: it has neither, or the folder can't be read. */
export async function diskUsed(
  folder: string | undefined,
  spool?: Pick<SpoolState, "bytes" | "maxBytes">,
  ask = statfs,
): Promise<number | null> {
  const disk = folder === undefined ? undefined : await askDisk(folder, ask)
  if (disk === undefined) return null
  const used = disk.blocks - disk.bfree
  const available = used + disk.bavail
  const shares = [
    // some file systems, such as that of /proc, have no blocks
    ...(available === 0 ? [] : [used / available]),
    ...(spool === undefined ? [] : [spool.bytes / spool.maxBytes]),
  ]
  return shares.length === 0 ? null : rounded(Math.max(...shares))
}
