import { isDeepStrictEqual } from "node:util"
import type { BenchKafka } from "./kafka.ts"
import { headersOf, type Target } from "./target.ts"
import { readWithKcat } from "../test/support/kcat.ts"

const COUNT = 500
const AT_ONCE = 32
const REFUSED = ['{"n":1', '{"n":1,}', "[1]", '"text"', "17", ""]
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:Z|[+-]\d\d:\d\d)$/

/**
 * Whether a receiver does what is measured: every event that was answered 200 is in the topic once, with the two members
 * and all that was sent; what was refused is not. Read by kcat.
 *
 * @throws Error that says what is wrong
 */
export async function checkReceiver(target: Target, kafka: BenchKafka): Promise<void> {
  await using turn = await kafka.turn(target)
  await using started = await target.start(turn)
  const url = started.url!
  const send = async (body: string, secret = target.secret): Promise<number> => {
    const headers = await headersOf(body, secret)
    headers.set("content-type", "application/json")
    const answer = await fetch(url, { method: "POST", body, headers })
    await answer.arrayBuffer()
    return answer.status
  }
  const sent = Array.from({ length: COUNT }, (_, n) => {
    return { n, text: `Gebühr – "${n}"\n`, list: [n, -1.5, null, true, {}], nested: { empty: [] } }
  })
  for (let from = 0; from < COUNT; from += AT_ONCE) {
    const some = sent.slice(from, from + AT_ONCE).map((event) => send(JSON.stringify(event)))
    const statuses = await Promise.all(some)
    if (statuses.some((status) => status !== 200)) throw new Error(`events were answered ${statuses.join()}`)
  }
  for (const body of REFUSED) {
    const status = await send(body)
    if (status < 400) throw new Error(`${body} was answered ${status}`)
  }
  if (target.secret !== undefined) {
    const status = await send('{"n":-1}', "another-key")
    if (status < 400) throw new Error(`a wrong signature was answered ${status}`)
  }
  const values = (await readWithKcat(turn, turn.topic)).map(({ value }) => JSON.parse(value.toString()))
  const events = values.filter((value) => value.first !== true) as { n: number; [name: string]: unknown }[]
  events.sort((a, b) => a.n - b.n)
  if (events.length !== COUNT) throw new Error(`${COUNT} events were answered, ${events.length} published`)
  for (const [n, { received_at, source, ...rest }] of events.entries()) {
    if (!isDeepStrictEqual(rest, sent[n]) || source !== "webhook" || !LOCAL_TIME.test(String(received_at))) {
      throw new Error(`event ${n} was published as ${JSON.stringify(events[n])}`)
    }
  }
}
