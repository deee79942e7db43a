import { Presets, SingleBar } from "cli-progress"

const COUNTED = "{bar} {percentage}% | {value} of {total} | {duration_formatted}, {eta_formatted} to go"

/** A progress bar on standard error, so that the summary can be piped; undefined if that is no terminal. */
export function startProgressBar(
  total: number,
  { format = COUNTED, payload }: { readonly format?: string; readonly payload?: object } = {},
): SingleBar | undefined {
  if (!process.stderr.isTTY) return undefined
  const bar = new SingleBar({ format }, Presets.shades_classic)
  bar.start(total, 0, payload)
  return bar
}
