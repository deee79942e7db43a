import { expect, test } from "bun:test"
import { readReceipts, readRecords, receiptsFrame, recordsFrame, type Outgoing } from "./frames.ts"

const bytes = (text: string): Buffer => Buffer.from(text)

test("records are read as they were sent: keys that are empty or missing, headers, times, bytes that are no UTF-8", () => {
  const records = [
    {
      topic: "webhooks",
      key: undefined,
      value: bytes(`{"n":1}`),
      headers: undefined,
      timestampMs: undefined,
    },
    { topic: "w", key: bytes(""), value: bytes(""), headers: undefined, timestampMs: 0 },
    {
      topic: "a.b-c_d",
      key: bytes("schlüssel"),
      value: Buffer.from([0, 255, 128]),
      headers: [
        ["name", new Uint8Array(bytes("value"))],
        ["name", new Uint8Array()],
      ] as const,
      timestampMs: 1_795_254_257_064,
    },
  ]
  const sent: Outgoing[] = records.map((record, at) => {
    return { number: 2 ** 32 - 1 - at, broker: at, deadlineMs: 1234.5 + at, record }
  })
  const came: Outgoing[] = []
  let sentAtMs = 0
  readRecords(
    recordsFrame(42.5, sent),
    (one) => came.push(one),
    (atMs) => (sentAtMs = atMs),
  )
  expect(sentAtMs).toBe(42.5)
  expect(came).toEqual(sent)
})

test("receipts are read as they were sent, those of a spool and offsets beyond 32 bits too", () => {
  const answers = [
    { number: 0, receipt: { partition: 0, offset: 2 ** 40 } },
    { number: 2 ** 32 - 1, receipt: { partition: -1, offset: -1 } },
  ]
  const came: typeof answers = []
  readReceipts(receiptsFrame(answers), (number, receipt) => came.push({ number, receipt }))
  expect(came).toEqual(answers)
})
