import { readFileSync } from "node:fs"

/**
 * For how long, in milliseconds since its start, the machine let a process's main thread wait although it could have
 * run; 0 where the system does not tell. The second number of /proc/<pid>/schedstat, in nanoseconds
 * (https://docs.kernel.org/scheduler/sched-stats.html).
 */
export function withheldMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ")[1]) / 1e6
  } catch {
    return 0
  }
}
