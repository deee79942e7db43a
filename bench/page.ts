import { join } from "node:path"
import { budget, sizesTable } from "./budget.ts"
import { medianSample, type Sample } from "./measure.ts"
import { pageParts } from "./parts.ts"
import { barChart, lineChart, logarithmicMarks, type Series } from "./picture.ts"
import {
  DOCS,
  readResults,
  writeBetween,
  writeResults,
  type PartResult,
  type Results,
  type SizesResult,
} from "./results.ts"
import { markdownTable, sampleTable } from "./table.ts"
import type { Target } from "./target.ts"
import { isHookline, targetNamed } from "./targets.ts"

const BEGIN = "<!-- What npm run bench:peers measured: -->"
const END = "<!-- The end of what it measured. -->"

/** Puts the results into docs/benchmarks.md between its two marks, and draws the pictures beside it. */
export async function writePage(results: Results): Promise<void> {
  const pictures = draw(results)
  for (const { name, svg } of pictures) await Bun.write(join(DOCS, name), svg)
  const images = pictures.map(({ name, title }) => `![${title}](${name})\n\n`).join("")
  const table = markdownTable(["", "budget", "measured", "met"], budget(results))
  const many = results.sizes === undefined ? "" : `${manyPipelines(results.sizes)}\n\n`
  await writeBetween(
    BEGIN,
    END,
    `${images}## The budget\n\n${table}\n\nWhy the missed ones are missed: [below](#missed-budgets).\n\n${many}${sections(results)}`,
  )
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
  return `${how}\n\n${markdownTable(...sizesTable(sizes))}`
}

function sections({ parts: found, soak }: Results): string {
  const texts = pageParts.flatMap((part) => {
    const result = found[part.name]
    if (result === undefined) return []
    const { measured, machine, rounds, seconds } = result
    const how = `${measured}, ${machine}; medians of ${rounds} rounds of ${seconds} s.`
    return [`## ${part.title}\n\n${how}\n\n${sampleTable(part, result.samples)}`]
  })
  if (soak !== undefined) {
    const { measured, machine, target, connections, seconds, events, p99, cpuPerEvent, memory } = soak
    texts.push(
      `## Soak\n\n${measured}, ${machine}; ${targetNamed(target).title}, ${connections} connections, 1.1 KB, ` +
        `${(seconds / 60).toFixed(0)} minutes: ${events.toLocaleString("en")} events, p99 ${p99.toFixed(1)} ms, ` +
        `${cpuPerEvent.toFixed(1)} µs of CPU an event, ${memory.at(-1)!.toFixed(0)} MiB at the end.`,
    )
  }
  return texts.join("\n\n")
}

function draw({ parts: found, soak }: Results): { name: string; title: string; svg: string }[] {
  const pictures: { name: string; title: string; svg: string }[] = []
  const add = (name: string, title: string, svg: string): void => void pictures.push({ name, title, svg })
  const { closed, open } = found
  if (closed !== undefined) {
    const title = "CPU microseconds an event: 64 connections, 1.1 KB, acks=all"
    const bars = figures("closed", closed).flatMap(([target, samples]) => {
      const sample = samples["64 connections, 1.1 KB"]
      if (sample === undefined) return []
      const label = target.title.replaceAll("`", "")
      return [{ label, value: sample.cpuPerEvent, isOurs: isHookline(target) }]
    })
    add("benchmarks-cpu.svg", title, barChart(title, bars))
  }
  if (open !== undefined) {
    const title = "99th percentile at a steady rate; a line ends where its target does not keep up"
    const series = figures("open", open).map(([target, samples]): Series => {
      const points = Object.entries(samples).flatMap(([name, { p99, perSecond }]) => {
        const rate = Number.parseInt(name, 10)
        return perSecond < 0.95 * rate ? [] : [[rate, p99] as const]
      })
      return { name: target.title, points }
    })
    const shown = series.filter(({ points }) => points.length > 0)
    const marks = logarithmicMarks(shown.flatMap(({ points }) => points.map(([, p99]) => p99)))
    const x = { label: "events a second", marks: [2000, 5000, 10_000], logarithmic: true }
    add(
      "benchmarks-latency.svg",
      title,
      lineChart(title, shown, { x, y: { label: "ms", marks, logarithmic: true } }),
    )
  }
  if (soak !== undefined) {
    const title = "Resident memory under full load"
    const points = soak.memory.map((mib, i) => [(i * soak.everySeconds) / 60, mib] as const)
    const minutes = Math.max(1, Math.ceil(soak.seconds / 60))
    const highest = Math.max(200, Math.ceil(Math.max(...soak.memory) / 50) * 50)
    const axes = {
      x: { label: "minutes", marks: Array.from({ length: minutes + 1 }, (_, minute) => minute) },
      y: { label: "MiB", marks: Array.from({ length: highest / 50 + 1 }, (_, i) => i * 50) },
    }
    add(
      "benchmarks-soak.svg",
      title,
      lineChart(title, [{ name: targetNamed(soak.target).title, points }], axes),
    )
  }
  return pictures
}

/** The medians of each target that was measured, in the order of the tables. */
function figures(part: string, { samples }: PartResult): [target: Target, { [load: string]: Sample }][] {
  const measured = pageParts.find(({ name }) => name === part)!.targets.filter(({ name }) => name in samples)
  return measured.map((target) => {
    const loads = Object.entries(samples[target.name]!)
    return [target, Object.fromEntries(loads.map(([load, all]) => [load, medianSample(all)]))]
  })
}
