import { cpus, totalmem } from "node:os"

/** What the figures were measured on and by, in a line. */
export function machine(): string {
  const all = cpus()
  const memory = Math.round(totalmem() / 1024 ** 3)
  const model = all[0]?.model ?? "unknown processor"
  return `Bun ${Bun.version}, ${all.length} x ${model}, ${memory} GiB, wrk`
}
