import type { StatsFs } from "node:fs"
import { statfs } from "node:fs/promises"
import { within } from "../../clock/clock.ts"
import type { SpoolState } from "../../brokers/broker.ts"
import { rounded } from "../pipeline-history.ts"

/** How long a disk has to answer. */
const DISK_MS = 250
/** What disks have not answered yet, by folder: a mount whose server is gone never does, and is not asked again. */
const unansweredDisks = new Map<string, Promise<StatsFs | undefined>>()

function askDisk(folder: string, ask: typeof statfs): Promise<StatsFs | undefined> {
  const answer = unansweredDisks.getOrInsertComputed(folder, () =>
    ask(folder)
      .catch(() => undefined)
      .finally(() => unansweredDisks.delete(folder)),
  )
  return within(DISK_MS, answer, () => undefined)
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
