import { readdirSync, readFileSync, writeFileSync } from "node:fs"

/** Clock ticks a second in /proc: USER_HZ, 100 on every Linux that Bun runs on. */
const TICKS_PER_SECOND = 100

/** CPU time that a process and its living children have used, all threads, in microseconds: /proc/PID/stat, proc(5). */
export function cpuMicroseconds(pid: number): number {
  let ticks = 0
  for (const one of tree(pid)) {
    const stat = readFileSync(`/proc/${one}/stat`, "latin1")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return (ticks / TICKS_PER_SECOND) * 1e6
}

/** The most memory that a process and its living children have had resident, added up, in MiB. */
export function peakMiB(pid: number): number {
  let kib = 0
  for (const one of tree(pid)) {
    kib += Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${one}/status`, "latin1"))?.[1] ?? 0)
  }
  return kib / 1024
}

/** The memory that a process has resident now, in MiB: /proc/PID/status, proc(5). */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1")
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024
}

/** Forgets the peaks so far: proc(5), clear_refs. */
export function forgetPeak(pid: number): void {
  for (const one of tree(pid)) writeFileSync(`/proc/${one}/clear_refs`, "5")
}

function tree(pid: number): number[] {
  const found = [pid]
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").trim()
    if (children !== "") found.push(...children.split(" ").flatMap((child) => tree(Number(child))))
  }
  return found
}
