import { Presets, SingleBar } from "cli-progress"

/** A progress bar on standard error, so that the summary can be piped; undefined if that is no terminal. */
export function startProgressBar(total: number): SingleBar | undefined {
  if (!process.stderr.isTTY) return undefined
  const bar = new SingleBar(
    { format: "{bar} {percentage}% | {value} of {total} | {duration_formatted}, {eta_formatted} to go" },
    Presets.shades_classic,
  )
  bar.start(total, 0)
  return bar
}
