import { expect, test } from "bun:test"
import { eventOf } from "../../test/support/event.ts"

test("json() parses the body once, and anew when a step has set another one", () => {
  const event = eventOf('{"amount":10}')
  const first = event.json<{ amount: number }>()
  expect(first).toEqual({ amount: 10 })
  expect(event.json()).toBe(first)
  event.body = Buffer.from('{"amount":11}')
  expect(event.json()).toEqual({ amount: 11 })
  expect(Buffer.from(event.receivedBody).toString()).toBe('{"amount":10}')
})

test("json() leaves the bytes as they are, whatever becomes of the value", () => {
  const event = eventOf('{ "id": 12345678901234567890 }')
  event.json<{ id: number }>().id = 1
  expect(Buffer.from(event.body).toString()).toBe('{ "id": 12345678901234567890 }')
})

test.each([
  ["nothing", ""],
  ["what is not JSON", "{"],
  ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
])("json() throws for %s", (_what, body) => {
  expect(() => eventOf(body).json()).toThrow()
})

test("a body with a byte order mark is read without it", () => {
  expect(eventOf('\ufeff{"a":1}').json()).toEqual({ a: 1 })
})

test("an onSettled() callback may return anything; what it rejects with is a fault of its own", async () => {
  const event = eventOf("{}")
  const failed: unknown[] = []
  const ended: string[] = []
  // oxlint-disable-next-line no-thenable
  const query = { then: (resolve: () => void) => void (ended.push("query"), resolve()) }
  event.onSettled((() => ended.push("count")) as () => void)
  event.onSettled((() => query) as unknown as () => void)
  event.onSettled(() => Promise.reject(new Error("not written")))
  await event.settle(undefined, (error) => failed.push(error))
  expect(ended).toEqual(["count", "query"])
  expect(failed).toEqual([new Error("not written")])
})

test("the received body is kept after the sink where it is asked for and there is capacity for it", () => {
  const released = (keeps: boolean, freeBytes: number): readonly [kept: boolean, reserved: number] => {
    let reserved = 0
    const event = eventOf('{"a":1}')
    event.keepsReceivedBody = keeps
    event.memory = {
      grow(bytes) {
        if (bytes <= freeBytes) reserved += bytes
        return bytes <= freeBytes
      },
    }
    event.body = Buffer.from("{}")
    event.release()
    expect(event.receivedBody.length).toBe(event.isReleased ? 2 : 7)
    return [!event.isReleased, reserved]
  }
  expect(released(true, 7)).toEqual([true, 7])
  expect(released(true, 6)).toEqual([false, 0])
  expect(released(false, 7)).toEqual([false, 0])
})
