import { join } from "node:path"
import { budget, linesTable, sizesTable } from "./budget.ts"
import { KEEPS_UP, medianSample, type Sample } from "./measure.ts"
import { closed, pageParts } from "./parts.ts"
import { barChart, lineChart, logarithmicMarks, type Series } from "./picture.ts"
import {
  DOCS,
  readResults,
  writeSection,
  writeResults,
  type Results,
  type SizesResult,
  type SoakResult,
} from "./results.ts"
import { sampleTable } from "./table.ts"
import type { Target } from "./target.ts"
import { isHookline, targetNamed } from "./targets.ts"

/** Puts the results into docs/benchmarks.md, and draws the pictures beside it. */
export async function writePage(results: Results): Promise<void> {
  const texts: string[] = []
  for (const { file, title, svg } of [cpuPicture(results), latencyPicture(results), soakPicture(results)]) {
    await Bun.write(join(DOCS, file), svg)
    texts.push(`![${title}](${file})`)
  }
  texts.push("## The budget", linesTable(budget(results)))
  texts.push("Why the missed ones are missed: [below](#missed-budgets).", manyPipelines(results.sizes))
  for (const part of pageParts) {
    const { measured, machine, rounds, seconds, samples } = results.parts[part.name]!
    const how = `${measured}, ${machine}; medians of ${rounds} rounds of ${seconds} s.`
    texts.push(`## ${part.title}`, how, sampleTable(part, samples))
  }
  texts.push("## Soak", soakText(results.soak))
  await writeSection("peers", texts.join("\n\n"))
}

/** Keeps what was measured, beside what other runs measured. */
export async function keep(found: Partial<Results>): Promise<void> {
  const before = await readResults()
  const results = { ...before, ...found, parts: { ...before.parts, ...found.parts } }
  await writeResults(results)
  await writePage(results)
}

/** The lines of the budget for numbers of pipelines. */
function manyPipelines({ measured, machine, rounds, sizes }: SizesResult): string {
  const how = `Pipelines on the embedded log, each with a Verifier, a path and a topic of its own; ${measured}, ${machine}; medians of ${rounds}. Times are the processor's, of all threads; "each" is what a pipeline adds to a process with one, empty where that is below the noise or was not measured; bold is beyond the budget, which is for 10,000 and more: with fewer, compilation and the growth of the heap take most.`
  return `${how}\n\n${sizesTable(sizes)}`
}

export function soakText(soak: SoakResult): string {
  const { measured, machine, target, connections, seconds, events, p99, cpuPerEvent, memory } = soak
  return (
    `${measured}, ${machine}; ${targetNamed(target).title}, ${connections} connections, 1.1 KB, ` +
    `${(seconds / 60).toFixed(0)} minutes: ${events.toLocaleString("en")} events, p99 ${p99.toFixed(1)} ms, ` +
    `${cpuPerEvent.toFixed(1)} µs of CPU an event, ${memory.at(-1)!.toFixed(0)} MiB at the end.`
  )
}

function cpuPicture(results: Results) {
  const bars = figures("closed", results).flatMap(([target, samples]) => {
    const sample = samples[closed(64).name]
    const label = target.title.replaceAll("`", "")
    return sample === undefined ? [] : [{ label, value: sample.cpuPerEvent, isOurs: isHookline(target) }]
  })
  const title = "CPU microseconds an event: 64 connections, 1.1 KB, acks=all"
  return { file: "benchmarks-cpu.svg", title, svg: barChart(title, bars) }
}

function latencyPicture(results: Results) {
  const series = figures("open", results).flatMap(([target, samples]): Series[] => {
    const points = Object.entries(samples).flatMap(([name, { p99, perSecond }]) => {
      const rate = Number.parseInt(name, 10)
      return perSecond < KEEPS_UP * rate ? [] : [[rate, p99] as const]
    })
    return points.length === 0 ? [] : [{ name: target.title, points }]
  })
  const title = "99th percentile at a steady rate; a line ends where its target does not keep up"
  const marks = logarithmicMarks(series.flatMap(({ points }) => points.map(([, p99]) => p99)))
  const x = { label: "events a second", marks: [2000, 5000, 10_000], logarithmic: true }
  const y = { label: "ms", marks, logarithmic: true }
  return { file: "benchmarks-latency.svg", title, svg: lineChart(title, series, { x, y }) }
}

function soakPicture({ soak }: Results) {
  const points = soak.memory.map((mib, i) => [(i * soak.everySeconds) / 60, mib] as const)
  const minutes = Math.max(1, Math.ceil(soak.seconds / 60))
  const highest = Math.max(200, Math.ceil(Math.max(...soak.memory) / 50) * 50)
  const series = [{ name: targetNamed(soak.target).title, points }]
  const title = "Resident memory under full load"
  const x = { label: "minutes", marks: Array.from({ length: minutes + 1 }, (_, minute) => minute) }
  const y = { label: "MiB", marks: Array.from({ length: highest / 50 + 1 }, (_, i) => i * 50) }
  return { file: "benchmarks-soak.svg", title, svg: lineChart(title, series, { x, y }) }
}

/** The medians of each target of a part that was measured, in the order of the tables. */
function figures(name: string, results: Results): [target: Target, { [load: string]: Sample }][] {
  const { samples } = results.parts[name]!
  const { targets } = pageParts.find((part) => part.name === name)!
  return targets
    .filter((target) => target.name in samples)
    .map((target) => {
      const loads = Object.entries(samples[target.name]!)
      return [target, Object.fromEntries(loads.map(([load, all]) => [load, medianSample(all)]))]
    })
}
