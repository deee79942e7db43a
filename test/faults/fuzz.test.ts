import { expect, test } from "bun:test"
import { residentMiB } from "../../bench/process.ts"
import { isFull, isShort } from "../support/fault-table.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"
import { mutatedRequest } from "../support/mutated-requests.ts"
import { sendCases, type Ending } from "../support/raw-cases.ts"
import { ON_LOG, startService } from "../support/webhook-service.ts"

const CASES = isFull ? 100_000 : isShort ? 10_000 : 3000
const SEED = Number(process.env.HOOKLINE_FUZZ_SEED ?? 1)
/** Every so manieth case's sender goes without having asked the server to close. */
const LEFT_EVERY = 20
/** What the resident memory may have grown by since the first tenth: the allocator keeps pages for the next load. */
const MARGIN_MIB = 32

test(`${CASES} mutated requests: each is answered in HTTP or closed, and Hookline is as before`, async () => {
  using folder = temporaryFolder()
  await using running = await startService({
    folder: folder.path,
    ...ON_LOG,
    source: "max_body_bytes = 64KiB",
    service: "body_timeout = 300ms",
  })
  const endings: Ending[] = []
  let [beforeMiB, afterMiB] = [0, 0]
  try {
    const url = running.urls["webhooks"]!
    const send = (from: number, to: number): Promise<void> =>
      sendCases(
        Number(new URL(url).port),
        { from, to, atOnce: 64 },
        (number) => mutatedRequest(SEED, number),
        (number) => number % LEFT_EVERY !== 0,
        (ending) => endings.push(ending),
      )
    const nothingInFlight = async (): Promise<boolean> =>
      (await (await fetch(`${running.adminUrl}/metrics`)).text()).includes(
        "\nhookline_in_flight_requests 0\n",
      )
    await send(0, CASES / 10)
    beforeMiB = residentMiB(running.pid)
    await send(CASES / 10, CASES)
    while (!(await nothingInFlight()));
    afterMiB = residentMiB(running.pid)
    expect((await fetch(url, { method: "POST", body: '{"healthy":true}' })).status).toBe(200)
    expect(await running.stop()).toBe(0)
  } finally {
    running.signal("SIGKILL")
  }

  const statuses = endings.flatMap((it) => it.statuses)
  const silent = endings.filter(({ end, statuses: [first] }) => end === "closed" && first === undefined)
  const values = await valuesInLog(`${folder.path}/log`, "webhooks")
  process.stdout.write(
    `fuzz: seed ${SEED}, ${endings.length} requests: ${counts(endings.map(({ end }) => end))}; ` +
      `${silent.length} closed without an answer; answers ${counts(statuses)}; ${values.length - 1} published; ` +
      `resident ${beforeMiB.toFixed(0)} MiB, at the end ${afterMiB.toFixed(0)} MiB\n`,
  )
  expect(endings.filter(({ malformed, end }) => malformed !== undefined || end === "hung")).toEqual([])
  expect(statuses).not.toContain(500)
  expect(running.output()).not.toMatch(/\bat .*:\d+:\d+/)
  expect(running.log.filter(({ level }) => level === "error" || level === "fatal")).toEqual([])
  // the healthy one is one more than was answered; of others the sender had gone, or had sent more behind them
  expect(values.length).toBeGreaterThan(statuses.filter((status) => status === 200).length)
  expect(values.filter((value) => !isEnriched(value))).toEqual([])
  expect(afterMiB - beforeMiB).toBeLessThan(MARGIN_MIB)
}, 900_000)

function isEnriched(value: string): boolean {
  const parsed = JSON.parse(value) as { [key: string]: unknown }
  return parsed["source"] === "webhook" && /^\d{4}-.*T.*[+-]\d\d:\d\d$/.test(String(parsed["received_at"]))
}

const counts = (words: readonly (string | number)[]): string =>
  [...Map.groupBy(words, (word) => word)]
    .toSorted()
    .map(([word, { length }]) => `${word} ${length}`)
    .join(", ")
