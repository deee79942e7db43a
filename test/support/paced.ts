import { steadyMs } from "../../src/clock/clock.ts"

/**
 * Sends so many requests a second, whatever the answers do, for so long.
 *
 * @param stepMs how long it rests before it sends what is due
 * @returns how many were answered
 */
export async function paced(
  perSecond: number,
  seconds: number,
  send: (n: number) => Promise<unknown>,
  stepMs = 10,
): Promise<number> {
  const start = steadyMs()
  const pending: Promise<unknown>[] = []
  while (pending.length < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, Math.floor(((steadyMs() - start) * perSecond) / 1000))
    while (pending.length < due) pending.push(send(pending.length))
    await Bun.sleep(stepMs)
  }
  await Promise.all(pending)
  return pending.length
}
