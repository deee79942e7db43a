import { describe, expect, test } from "bun:test"
import { ByteReader, Malformed } from "./byte-reader.ts"
import { ByteWriter } from "./byte-writer.ts"
import { rangeOf, readRequest, writeResponse, type Api } from "./fields.ts"
import * as messages from "./messages.ts"
import { random, readResponse, someOf, writeRequest } from "../../test/support/kafka-messages.ts"

const APIS = Object.entries(messages) as [string, Api][]

describe.each(APIS)("%s", (_, api) => {
  const [first, last] = rangeOf(api.versions)
  const versions = Array.from({ length: last - first + 1 }, (_, at) => first + at)

  test.each(versions)("a message of version %d is read as it was written", (version) => {
    for (let times = 0; times < 5; times++) {
      const request = someOf(api.request, version)
      const sent = new ByteWriter(1)
      writeRequest(api, version, request, sent)
      const from = new ByteReader(sent.written())
      expect(readRequest(api, version, from)).toMatchObject(request)
      expect(from.position).toBe(sent.length)

      const response = someOf(api.response, version)
      const answered = new ByteWriter(1)
      writeResponse(api, version, response as never, answered)
      expect(readResponse(api, version, new ByteReader(answered.written()))).toMatchObject(response)
    }
  })

  test.each(versions)("a request of version %d that ends early is malformed", (version) => {
    const to = new ByteWriter()
    writeRequest(api, version, someOf(api.request, version), to)
    const whole = to.written()
    for (let length = 0; length < whole.length; length += 1 + random(20)) {
      const read = (): unknown => readRequest(api, version, new ByteReader(whole.subarray(0, length)))
      expect(read).toThrow(Malformed)
    }
  })
})

test("a field that is left out is written with its default", () => {
  const to = new ByteWriter()
  writeResponse(messages.Fetch, 12, { responses: [{ topic: "t", partitions: [{ partitionIndex: 0 }] }] }, to)
  const { responses } = readResponse(messages.Fetch, 12, new ByteReader(to.written())) as {
    responses: { partitions: object[] }[]
  }
  expect(responses[0]!.partitions[0]).toMatchObject({
    lastStableOffset: -1,
    preferredReadReplica: -1,
    records: null,
  })
})

test("a small frame can't ask for millions of elements", () => {
  const frame = Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0])
  expect(() => readRequest(messages.Metadata, 1, new ByteReader(frame))).toThrow("elements")
})

test("tagged fields are read over", () => {
  const to = new ByteWriter()
  writeRequest(messages.ApiVersions, 3, { clientSoftwareName: "a", clientSoftwareVersion: "b" }, to)
  const bytes = Buffer.concat([to.written().subarray(0, -1), Buffer.from([1, 99, 3, 1, 2, 3])])
  const from = new ByteReader(bytes)
  expect(readRequest(messages.ApiVersions, 3, from)).toMatchObject({ clientSoftwareVersion: "b" })
  expect(from.position).toBe(bytes.length)
})
