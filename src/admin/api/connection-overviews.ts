import { statfs } from "node:fs/promises"
import type { SpoolState } from "../../brokers/broker.ts"
import { rounded } from "../pipeline-history.ts"
import type { Readiness, Service } from "../service.ts"
import type { ConnectionOverview } from "./shapes.ts"

/** The share of a disk, or of a spool's own limit, that is in use; null: it has neither, or the folder can't be read. */
export async function diskUsed(
  folder: string | undefined,
  spool?: Pick<SpoolState, "bytes" | "maxBytes">,
): Promise<number | null> {
  const disk = folder === undefined ? undefined : await statfs(folder).catch(() => undefined)
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

/** The connections of this process. @param outageSince when a connection's problem began */
export async function connectionOverviews(
  service: Pick<Service, "connections">,
  readiness: Readiness,
  outageSince: (id: string) => number,
): Promise<ConnectionOverview[]> {
  const problems = new Map(readiness.connections)
  const impaired = new Map(readiness.impaired)
  const spools = new Map(readiness.spools)
  const overviews = service.connections().map(async ({ id, kind, address, folder }) => {
    const problem = problems.get(id)
    const spool = spools.get(id)
    return {
      id,
      kind,
      address,
      problem: problem ?? null,
      problem_since: problem === undefined ? null : outageSince(id),
      impaired: [...(impaired.get(id) ?? [])].slice(0, 100),
      spool:
        spool === undefined
          ? null
          : {
              records: spool.records,
              bytes: spool.bytes,
              oldest_at: spool.oldestMs ?? null,
              quarantined: spool.quarantined,
              problem: spool.problem ?? null,
            },
      disk_used: await diskUsed(folder, spool),
    }
  })
  return Promise.all(overviews)
}
