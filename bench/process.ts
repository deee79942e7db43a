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
  return memoryMiB(pid, "VmHWM")
}

/** The memory that a process and its living children have resident, added up, in MiB. */
export function residentMiB(pid: number): number {
  return memoryMiB(pid, "VmRSS")
}

/** Forgets the peaks so far: proc(5), clear_refs. */
export function forgetPeak(pid: number): void {
  for (const one of tree(pid)) writeFileSync(`/proc/${one}/clear_refs`, "5")
}

function memoryMiB(pid: number, field: "VmHWM" | "VmRSS"): number {
  let kib = 0
  for (const one of tree(pid)) {
    const status = readFileSync(`/proc/${one}/status`, "latin1")
    kib += Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0)
  }
  return kib / 1024
}

function tree(pid: number): number[] {
  const found = [pid]
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").trim()
    if (children !== "") found.push(...children.split(" ").flatMap((child) => tree(Number(child))))
  }
  return found
}
