import { readFileSync } from "node:fs"
import { uptime } from "node:os"

/*
 * The time since the machine was started: processes that follow each other measure with it what lies between them, and
 * setting the time of day does not change it.
 *
 *             time                                                     of which start
 *   Linux     `/proc/uptime`, which goes on while the machine sleeps   `/proc/sys/kernel/random/boot_id`
 *   macOS     now, less `kern.boottime`, which is set with the clock   `kern.bootsessionuuid`
 *   elsewhere, and where these can't be read: the monotonic clock of the process, which is a start of its own
 */
export interface Uptime {
  /** Differs between two starts of the machine. */
  readonly boot: string
  readonly ms: number
}

/** It is read again after that, and where time of day and monotonic clock part: the machine slept, or its clock was set. */
const READ_MS = 1000
const PART_MS = 50

/** What MachineClock says. */
export interface MachineTime {
  readonly boot: string
  now(): number
}

/** The time of a clock that goes on with the machine's uptime, at one, in milliseconds. */
export interface ClockReading {
  readonly boot: string
  readonly uptime: number
  readonly now: number
}

/** Goes on from a clock's reading, as in another thread. @returns its time, in whole milliseconds */
export function continuedFrom(
  { boot, uptime: atMs, now }: ClockReading,
  machine: MachineTime = new MachineClock(),
): () => number {
  const fromMs = boot === machine.boot ? atMs : machine.now()
  return () => Math.floor(now + machine.now() - fromMs)
}

export class MachineClock implements MachineTime {
  readonly boot: string
  readonly #uptime: () => Uptime
  #ms: number
  #atMs: number
  #differenceMs: number

  constructor(uptimeNow: () => Uptime = readUptime) {
    this.#uptime = uptimeNow
    const { boot, ms } = uptimeNow()
    this.boot = boot
    this.#ms = ms
    this.#atMs = performance.now()
    this.#differenceMs = Date.now() - this.#atMs
  }

  /** Milliseconds since the machine was started; never less than before. */
  now(): number {
    const atMs = performance.now()
    const differenceMs = Date.now() - atMs
    const ms = this.#ms + atMs - this.#atMs
    const hasParted = Math.abs(differenceMs - this.#differenceMs) > PART_MS
    if (atMs - this.#atMs < READ_MS && !hasParted) return ms
    // Linux says it in hundredths of a second
    this.#ms = Math.max(ms, this.#uptime().ms)
    this.#atMs = atMs
    this.#differenceMs = differenceMs
    return this.#ms
  }
}

function readUptime(): Uptime {
  try {
    if (process.platform === "linux") {
      const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()
      const seconds = Number.parseFloat(readFileSync("/proc/uptime", "latin1"))
      if (boot !== "" && seconds > 0) return { boot, ms: seconds * 1000 }
    } else if (process.platform === "darwin") {
      macBoot ??= Bun.spawnSync(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]).stdout.toString().trim()
      if (macBoot !== "") return { boot: macBoot, ms: uptime() * 1000 }
    }
  } catch {
    // a sandbox without them
  }
  return { boot: OWN_BOOT, ms: performance.now() }
}

let macBoot: string | undefined
const OWN_BOOT = crypto.randomUUID()
