import { work } from "../runtime/workers/worker.ts"

export async function worker(): Promise<void> {
  if (process.send === undefined) {
    console.error("hookline worker is started by hookline run, with [service] workers above 1")
    process.exitCode = 64
    return
  }
  await work()
}
