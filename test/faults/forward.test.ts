import { expect, test } from "bun:test"
import { isFull, report } from "../support/fault-table.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { Receiver } from "../support/receiver.ts"
import { startCommand } from "../support/running-command.ts"
import { ON_LOG, serving, startService } from "../support/webhook-service.ts"

const ROUNDS = isFull ? 24 : 4
const EVENTS = 50
const WAYS = ["SIGKILL", "SIGTERM", "SIGSTOP", "target down"] as const

test(`a forward that is killed, stopped and put to sleep ${ROUNDS} times, with a target that fails: every event is delivered, in order`, async () => {
  using folder = temporaryFolder()
  await using service = await startService({ folder: folder.path, ...ON_LOG })
  const { url } = serving(service)
  let acknowledged = 0
  const post = async (): Promise<void> => {
    for (let n = 0; n < EVENTS; n++) {
      const { status } = await fetch(url, { method: "POST", body: `{"n":${acknowledged}}` })
      expect(status).toBe(200)
      acknowledged++
    }
  }
  const taken: number[] = []
  await using receiver = new Receiver(({ offset }) => {
    if (Math.random() < 0.04) return new Response("", { status: 503 })
    taken.push(offset)
    return new Response()
  })
  const forward = ["forward", "broker/webhooks", receiver.url, "--begin", "beginning"]
  for (let round = 0; round < ROUNDS; round++) {
    const way = WAYS[round % WAYS.length]!
    await post()
    await using forwarding = startCommand(forward, folder.path)
    // in the middle of what waits
    await receiver.count(receiver.all.length + EVENTS / 2)
    if (way === "target down") {
      await receiver.down()
      await forwarding.printed(/retrying\n$/)
    } else forwarding.signal(way)
    await post()
    if (way === "target down") receiver.up()
    if (way === "SIGSTOP") forwarding.signal("SIGCONT")
    if (way === "target down" || way === "SIGSTOP") await receiver.offset(acknowledged - 1)
    // what runs still is killed
  }
  await using last = startCommand(forward, folder.path)
  await post()
  await last.printed(new RegExp(`webhooks\\[0\\]@${acknowledged - 1} 200 `))
  const distinct = [...new Set(taken)]
  const findings = {
    sent: acknowledged,
    acknowledged,
    found: distinct.length,
    lost: acknowledged - distinct.length,
    doubled: taken.length - distinct.length,
    longestWaitMs: undefined,
  }
  report(`Forward killed, stopped and asleep ${ROUNDS} times, target failing`, findings)
  expect(distinct).toEqual(Array.from({ length: acknowledged }, (_, n) => n))
  // the one under way at each end
  expect(findings.doubled).toBeLessThanOrEqual(ROUNDS)
})
