import { expect, test } from "bun:test"
import { reload, temporaryFolder, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { until } from "../support/kafka-options.ts"
import { Receiver } from "../support/receiver.ts"
import type { Overview } from "../../src/admin/api/overview-shape.ts"

/** A pipeline whose topic is forwarded, with the default concurrency, by sections of these lines. */
const configuration = (sections: { readonly [id: string]: string }, sink = ""): string => `
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:hooks:BrokerSink]
topic = hooks
${sink}
${Object.entries(sections)
  .map(([id, lines]) => `[forward:${id}]\nfrom = log/hooks\n${lines}\n`)
  .join("\n")}`

/** Posts that many webhooks, each accepted before the next. */
async function post(service: Started, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const body = JSON.stringify({ k: `k${n % 3}` })
    expect((await fetch(service.urls["hooks"]!, { method: "POST", body })).status).toBe(200)
  }
}

const upTo = (count: number, first = 0): number[] => Array.from({ length: count }, (_, n) => first + n)

const forwardsOf = async ({ adminUrl }: Started): Promise<Overview["forwards"]> =>
  ((await (await fetch(`${adminUrl}/api/overview`)).json()) as Overview).forwards

test.each([
  ["without keys", ""],
  ["of several keys", "key = json:/k"],
])(
  "records %s are accepted in the order of the log after a 503, a timeout and a cut connection",
  async (_, sink) => {
    using folder = temporaryFolder()
    await using used = new AsyncDisposableStack()
    const accepted: { readonly [id: string]: number[] } = { status: [], timeout: [], cut: [] }
    const failures: { readonly [id: string]: () => Promise<Response> | Response } = {
      status: () => new Response("", { status: 503 }),
      timeout: () => new Promise(() => {}),
      cut: () => receivers["cut"]!.down().then(() => (receivers["cut"]!.up(), new Response())),
    }
    const receivers: { readonly [id: string]: Receiver } = Object.fromEntries(
      Object.entries(accepted).map(([id, offsets]) => {
        const failed = new Set<number>()
        const receiver = new Receiver(({ offset }) => {
          if (offset % 3 === 0 && !failed.has(offset)) return failed.add(offset) && failures[id]!()
          offsets.push(offset)
          return new Response()
        })
        return [id, used.use(receiver)] as const
      }),
    )
    const section = ({ url }: Receiver): string => `url = ${url}\ntimeout = 1s`
    const sections = Object.fromEntries(Object.entries(receivers).map(([id, it]) => [id, section(it)]))
    await using service = await startInProcess(configuration(sections, sink), { folder: folder.path })
    await post(service, 8)
    for (const [id, receiver] of Object.entries(receivers)) {
      await receiver.offset(7)
      expect([id, accepted[id]]).toEqual([id, upTo(8)])
    }
  },
)

test("a record that fails each time, and one that is refused, are parked in their place, and not delivered later", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver(
    ({ offset }) => new Response("", { status: offset === 1 ? 500 : offset === 3 ? 400 : 200 }),
  )
  const sections = { app: `url = ${receiver.url}\nretries = 1` }
  await using service = await startInProcess(configuration(sections), { folder: folder.path })
  await post(service, 6)
  await receiver.offset(5)
  for (const offset of [1, 3])
    await service.logged((line) => line.msg === "record refused" && line.offset === offset)
  receiver.answer = () => new Response()
  await post(service, 2)
  await receiver.offset(7)
  expect(receiver.offsets).toEqual([0, 1, 1, 2, 3, 3, 4, 5, 6, 7])
})

test("after a refusal that stops a section nothing is posted, nor after a restart or a reload; one that fails is waited for", async () => {
  using folder = temporaryFolder()
  await using refusing = new Receiver(({ offset }) => new Response("", { status: offset === 4 ? 400 : 200 }))
  await using failing = new Receiver(({ offset }) => new Response("", { status: offset === 4 ? 500 : 200 }))
  const sections = (more: string) => ({
    refused: `url = ${refusing.url}\non_refusal = stop\nretries = 1${more}`,
    failed: `url = ${failing.url}\non_refusal = stop\nretries = 0`,
  })
  const stopped = ({ msg }: { msg?: unknown }): boolean => msg === "forwarding stopped"
  {
    await using service = await startInProcess(configuration(sections("")), { folder: folder.path })
    await post(service, 40)
    expect(await service.logged(stopped)).toMatchObject({
      forward: "refused",
      problem: expect.stringContaining("hooks[0]@4 was refused"),
    })
    expect(await service.logged(({ msg }) => msg === "delivery stalled")).toMatchObject({
      forward: "failed",
      lag: 36,
    })
    await until("all that wait are counted", async () =>
      (await forwardsOf(service)).every(({ lag }) => lag === 36),
    )
    expect(await forwardsOf(service)).toMatchObject([
      { id: "refused", delivered: 4, problem: expect.stringContaining("hooks[0]@4 was refused") },
      { id: "failed", delivered: 4, problem: "500" },
    ])
  }
  await using service = await startInProcess(configuration(sections("")), { folder: folder.path })
  await service.logged(stopped)
  expect(await reload(service, folder.path, configuration(sections("\ntimeout = 20s")))).toBe("reloaded")
  await service.logged((line) => stopped(line) && line !== service.log.find(stopped))
  expect(refusing.offsets).toEqual([...upTo(4), 4, 4, 4, 4, 4, 4])
  expect(new Set(failing.offsets)).toEqual(new Set(upTo(5)))
  // once it is accepted, the others follow
  refusing.answer = () => new Response()
  expect(await reload(service, folder.path, configuration(sections("\ntimeout = 21s")))).toBe("reloaded")
  await refusing.offset(39)
  expect(refusing.offsets.slice(10)).toEqual(upTo(36, 4))
})
