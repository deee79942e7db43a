import { expect, test } from "bun:test"
import { verifier } from "../../components/verifier.ts"
import { Event, type RequestInfo } from "../../pipeline/event.ts"
import type { AnsweredRequest } from "../../pipeline/outcome-log.ts"
import { Accepted, Answered, Dropped, Rejected, type Outcome } from "../../pipeline/outcome.ts"
import type { PlannedPipeline } from "../../runtime/plan/plan.ts"
import { lineMaker, placeInWords, sizeInWords } from "./event-line.ts"

const pipeline = (id: string, provider?: string): PlannedPipeline =>
  ({
    id,
    processors: provider === undefined ? [] : [{ component: verifier, values: { provider, secret: ["s"] } }],
  }) as unknown as PlannedPipeline

const BODY = '{"id":"evt_1","type":"a\\u001bb","x":1}'

function answered(
  outcome: Outcome | undefined,
  more: Partial<AnsweredRequest> & { body?: string; headers?: object } = {},
): AnsweredRequest {
  const { body = BODY, headers = {}, ...rest } = more
  const request = {
    method: "POST",
    path: "/p\u202e",
    headers: new Headers({ ...headers }),
  } as unknown as RequestInfo
  return {
    pipeline: "hooks",
    request,
    event: new Event(request, Buffer.from(body)),
    bytes: body.length,
    status: 200,
    outcome,
    ...rest,
  }
}

const plain = (_: unknown, text: string): string => text
const line = (it: AnsweredRequest, pipelines = [pipeline("hooks")]): string => {
  const [time, ...rest] = lineMaker(pipelines, plain)(it, placeInWords(it, "topic")).split("  ")
  expect(time).toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/)
  return rest.join("  ")
}

test("an accepted event has its type, id, size and place; control characters are escaped", () => {
  const it = answered(new Accepted({ partition: 2, offset: 7 }))
  expect(line(it)).toBe("200  a\\u001bb  evt_1  38 B  topic[2]@7")
  expect(line(answered(new Accepted({ partition: -1, offset: -1 })))).toEndWith("  in the spool")
})

test("type and id are where the provider has them, which may be headers", () => {
  const it = answered(new Accepted({ partition: 0, offset: 0 }), {
    headers: { "X-GitHub-Event": "push", "X-GitHub-Delivery": "d-1" },
  })
  expect(line(it, [pipeline("hooks", "github")])).toBe("200  push  d-1  38 B  topic[0]@0")
})

test("a Router's topic is the place, and of several pipelines the id is shown", () => {
  const it = answered(new Accepted({ partition: 0, offset: 1 }))
  it.event!.topic = "chosen"
  expect(line(it, [pipeline("hooks"), pipeline("others")])).toStartWith("200  hooks  a")
  expect(placeInWords(it, "topic")).toBe("chosen[0]@1")
})

test.each([
  [
    "a refusal",
    new Rejected(401, "no_match", "for the sender", { logDetail: "for\nus" }),
    {},
    "refused: no_match: for\\u000aus",
  ],
  ["a drop", new Dropped("duplicate"), {}, "dropped: duplicate"],
  ["a handshake", new Answered("ping"), {}, "handshake answered: ping"],
  ["a fault", undefined, { status: 500 }, "a fault, see the log"],
] as const)("%s has its reason", (_, outcome, more, ending) => {
  expect(line(answered(outcome, more))).toEndWith(`  ${ending}`)
})

test("what is no JSON, or was not read, has neither type nor id", () => {
  const refused = new Rejected(400, "invalid_json", "no")
  expect(line(answered(refused, { status: 400, body: '{"type":' }))).toBe(
    "400  -  -  8 B  refused: invalid_json: no",
  )
  expect(
    line(answered(refused, { status: 404, pipeline: undefined, event: undefined, bytes: undefined })),
  ).toBe("404  POST /p\\u202e  -  -  -  refused: invalid_json: no")
})

test("sizes", () => {
  expect([0, 1023, 1024, 1536, 1024 ** 2, 3.25 * 1024 ** 2].map(sizeInWords)).toEqual([
    "0 B",
    "1023 B",
    "1.0 KiB",
    "1.5 KiB",
    "1.0 MiB",
    "3.3 MiB",
  ])
})
