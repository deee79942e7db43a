import { describe, expect, test } from "bun:test"
import { toLocalTime } from "../../format.ts"
import { describeFrom, fieldsOf, requestOf } from "./replay-request.ts"

const NONE = {
  source: "",
  partition: "",
  range: "all",
  from_offset: "",
  until_offset: "",
  since: "",
  until: "",
  where: "",
} as const

describe("fieldsOf a link", () => {
  test("without a query everything is open", () => {
    expect(fieldsOf({})).toEqual(NONE)
  })

  test("of one record", () => {
    const query = { connection: "log", topic: "a/b", partition: "3", from_offset: "42", until_offset: "43" }
    expect(fieldsOf(query)).toEqual({
      ...NONE,
      source: "log/a/b",
      partition: "3",
      range: "offsets",
      from_offset: "42",
      until_offset: "43",
    })
  })

  test("of a time and a filter", () => {
    const query = { connection: "log", topic: "a", since: "1795373652123", where: "json:/type=x" }
    const since = toLocalTime(1795373652123)
    expect(fieldsOf(query)).toEqual({
      ...NONE,
      source: "log/a",
      range: "times",
      since,
      where: "json:/type=x",
    })
  })

  test("what is no offset or time is left open", () => {
    expect(
      fieldsOf({ from_offset: "-1", until_offset: "x", partition: "", since: "soon", until: "1e400" }),
    ).toEqual(NONE)
  })
})

describe("requestOf a form", () => {
  const form = (fields: { [name: string]: string }): FormData => {
    const data = new FormData()
    for (const [name, value] of Object.entries(fields)) data.set(name, value)
    return data
  }

  test("empty fields are left out", () => {
    const fields = {
      source: "log/payments",
      partition: "",
      where: " ",
      to: "topic",
      to_connection: "kafka",
      to_topic: "copy",
      rate: "",
    }
    expect(requestOf(form(fields))).toEqual({
      from: { connection: "log", topic: "payments" },
      to: { connection: "kafka", topic: "copy" },
    })
  })

  test("numbers and times are numbers", () => {
    const fields = {
      source: "log/a/b",
      partition: "0",
      from_offset: "0",
      until_offset: "10",
      since: toLocalTime(1795373652123),
      to: "url",
      url: "http://localhost:3000/hooks",
      rate: "0.5",
    }
    expect(requestOf(form(fields))).toEqual({
      from: {
        connection: "log",
        topic: "a/b",
        partition: 0,
        from_offset: 0,
        until_offset: 10,
        since: 1795373652123,
      },
      to: { url: "http://localhost:3000/hooks" },
      rate: 0.5,
    })
  })

  test("a filter is written as in Events; what is none is said", () => {
    const fields = { source: "log/a", to: "url", url: "http://localhost" }
    expect(requestOf(form({ ...fields, where: "/type = invoice.*" })).from.where).toBe("json:/type=invoice.*")
    expect(() => requestOf(form({ ...fields, where: "/type" }))).toThrow("Write some text, /type = invoice.*")
  })
})

test("a range in words names its last offset", () => {
  const from = {
    connection: "log",
    topic: "a",
    partition: 0,
    from_offset: 42,
    until_offset: 43,
    where: "json:/x=1",
  }
  expect(describeFrom(from, String)).toBe("log/a, partition 0, offsets 42 to 42, where json:/x=1")
  expect(describeFrom({ connection: "log", topic: "a", from_offset: 1, since: 5 }, String)).toBe(
    "log/a, offsets 1 to the end, since 5",
  )
})
