import { readFileSync } from "node:fs"

/** Names of `/proc/self/limits`. */
type LimitName = "Max open files" | "Max file size"

/** A soft limit of this process (ulimit); undefined: unlimited, or unknown (not Linux). */
export function limitOf(name: LimitName): number | undefined {
  try {
    const soft = new RegExp(`^${name} +(\\d+)`, "m").exec(readFileSync("/proc/self/limits", "latin1"))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
