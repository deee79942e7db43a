import { Presets, SingleBar } from "cli-progress"

/** A bar on a terminal; undefined where there is none. Written to standard error, so that a summary can be piped. */
export function startProgressBar(total: number): SingleBar | undefined {
  if (!process.stderr.isTTY) return undefined
  const bar = new SingleBar(
    { format: "{bar} {percentage}% | {value} of {total} | {duration_formatted}, {eta_formatted} to go" },
    Presets.shades_classic,
  )
  bar.start(total, 0)
  return bar
}
