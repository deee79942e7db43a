import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs"

/** How many descriptors this process may have open; undefined: this system does not tell (others than Linux). */
export function descriptorLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** How many it has open. Takes no descriptor on Linux 6.2 and later, and 1 us; before, all are listed. */
export function openDescriptors(): number {
  const { size } = statSync("/proc/self/fd")
  if (size > 0) return size
  try {
    // the one that lists them is among them
    return readdirSync("/proc/self/fd").length - 1
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EMFILE") return Number.POSITIVE_INFINITY
    throw error
  }
}

/** Descriptors that are kept for when there is none left. */
export class SpareDescriptors {
  readonly #count: number
  #held: number[] = []

  constructor(count: number) {
    this.#count = count
  }

  /** Takes what is missing, as far as there are any. */
  take(): void {
    try {
      while (this.#held.length < this.#count) this.#held.push(openSync("/dev/null", "r"))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EMFILE") throw error
    }
  }

  get held(): number {
    return this.#held.length
  }

  release(): void {
    for (const fd of this.#held.splice(0)) closeSync(fd)
  }
}
