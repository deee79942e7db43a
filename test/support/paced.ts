import { steadyMs } from "../../src/clock/clock.ts"

/** Between two looks at what is due. */
const STEP_MS = 10

/**
 * Sends so many requests a second, whatever the answers do, for so long.
 *
 * @returns how many were answered
 */
export async function paced(
  perSecond: number,
  seconds: number,
  send: (n: number) => Promise<unknown>,
): Promise<number> {
  const start = steadyMs()
  const pending: Promise<unknown>[] = []
  while (pending.length < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, Math.floor(((steadyMs() - start) * perSecond) / 1000))
    while (pending.length < due) pending.push(send(pending.length))
    await Bun.sleep(STEP_MS)
  }
  await Promise.all(pending)
  return pending.length
}
