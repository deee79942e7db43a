import { readFileSync } from "node:fs"

const EVERY_MS = 5

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

/** Watches for how long the machine, busy with others, did not let this process run: no fault of what is tested. */
export class Starvation implements Disposable {
  /** The longest such time so far, in milliseconds. */
  longestMs = 0
  readonly #timer: Timer

  constructor() {
    let [lastMs, lastCpu] = [performance.now(), process.cpuUsage()]
    this.#timer = setInterval(() => {
      const { user, system } = process.cpuUsage(lastCpu)
      const goneMs = performance.now() - lastMs - EVERY_MS
      this.longestMs = Math.max(this.longestMs, goneMs - (user + system) / 1000)
      ;[lastMs, lastCpu] = [performance.now(), process.cpuUsage()]
    }, EVERY_MS)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
