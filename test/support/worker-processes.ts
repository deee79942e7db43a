import { readdirSync, readFileSync } from "node:fs"
import type { Started } from "./hookline.ts"

/** The processes that one has started and that live, in the order of their ids: proc(5). */
export function childrenOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").trim().split(" "),
  )
  return children.filter((it) => it !== "").map(Number)
}

/** Resolves when a process is gone, or is left to be waited for by its parent. */
export async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await Bun.sleep(5)
}

function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    return stat[stat.lastIndexOf(")") + 2] !== "Z"
  } catch {
    return false
  }
}

/** The values of a metric, by the labels as they stand there. */
export async function metricOf(running: Started, name: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${running.adminUrl}/metrics`)).text()
  const lines = [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, "gm"))]
  return new Map(lines.map(([, labels, value]) => [labels ?? "", Number(value)]))
}

export const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0)
