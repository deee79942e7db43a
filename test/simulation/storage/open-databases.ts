import { Database } from "bun:sqlite"
import type { SimulatedProcess } from "../simulated-process.ts"
import { activeWorld } from "../world.ts"

/*
 * The SQLite connections of simulated processes and threads. All of them are this program's, so that a killed process does
 * not close its own: they are closed for it, which gives their locks back.
 */
const open = new WeakMap<SimulatedProcess, Set<Database>>()

for (const method of ["run", "query", "prepare"] as const) {
  const real = Database.prototype[method] as (this: Database, ...given: unknown[]) => unknown
  Object.assign(Database.prototype, {
    [method](this: Database, ...given: unknown[]): unknown {
      const owner = activeWorld()?.current
      if (owner !== undefined) databasesOf(owner).add(this)
      return real.apply(this, given)
    },
  })
}

function databasesOf(owner: SimulatedProcess): Set<Database> {
  const known = open.get(owner) ?? new Set()
  open.set(owner, known)
  return known
}

/** Closes what a process or thread has open, without a checkpoint where its disk is halted. */
export function closeDatabases(owner: SimulatedProcess): void {
  for (const db of databasesOf(owner)) {
    try {
      db.close(true)
    } catch {
      // a disk that is halted answers everything with an error; the descriptors are closed
    }
  }
  open.delete(owner)
}
