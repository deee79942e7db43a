import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { curlOf } from "../../../console/curl.ts"
import { parsePasted, senderOfHeaders } from "./pasted-request.ts"

const BODY = `{"note":"it's \\n \u00e9 $HOME","x":"a\\\\b"}`

/** What is found in a text: method, URL, headers and body. */
function found(text: string | Uint8Array) {
  const { method, url, headers, body } = parsePasted(Buffer.from(text), readFileSync)
  return { method, url, headers: Object.fromEntries(headers), body: Buffer.from(body).toString() }
}

test("the command that the page copies is read back with the same bytes", () => {
  const headers = [
    { name: "Stripe-Signature", value: "t=1,v1=ab" },
    { name: "X-Empty", value: "" },
  ]
  const url = "https://hooks.example.com/in?a=1&b=%20"
  const command = curlOf({ method: "POST", url, headers, body: Buffer.from(BODY) })
  expect(command).toContain("\\\n")
  expect(found(`$ ${command}\n`)).toEqual({
    method: undefined,
    url,
    headers: { "stripe-signature": "t=1,v1=ab", "x-empty": "" },
    body: BODY,
  })
})

test.each([
  ["options written together", `curl -XPUT --data=a=1 -d b=2 -s -o out -u me:pw http://h/`, "a=1&b=2"],
  ["a browser's quotes", `curl 'http://h/' -X PUT -u me:pw --data-raw $'it\\'s\\n\\u00e9'`, "it's\n\u00e9"],
  ["a pipe after it", `curl http://h/ -X PUT -u me:pw -d x | jq .`, "x"],
])("a curl command with %s", (_, command, body) => {
  const headers = { authorization: `Basic ${btoa("me:pw")}` }
  expect(found(command)).toEqual({ method: "PUT", url: "http://h/", headers, body })
})

test.each([
  [
    "with its length",
    `POST /in?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n{"a":1}\r\n`,
    "POST",
    "/in?x=1",
  ],
  ["without", `POST /in HTTP/1.1\nHost: h\n\n{"a":1}\n`, "POST", "/in"],
  [
    "as GitHub lists it",
    `Request URL: https://h/in\nRequest method: POST\nHost: h\n\n{"a":1}`,
    "POST",
    "https://h/in",
  ],
  ["as headers alone", `\nHost: h\n\n{"a":1}\n`, undefined, undefined],
])("a raw request %s loses the line break that pasting adds", (_, text, method, url) => {
  expect(found(text)).toMatchObject({ method, url, headers: { host: "h" }, body: '{"a":1}' })
})

test("bytes of a raw body that are no UTF-8 are kept", () => {
  const body = Buffer.from([0x7b, 0xff, 0xfe, 0x0d, 0x0a, 0x0d, 0x0a, 0x7d])
  expect(parsePasted(Buffer.concat([Buffer.from("A: b\r\n\r\n"), body]), undefined).body).toEqual(body)
})

test("the JSON that gateways log", () => {
  const headers = { "X-One": "1", Many: ["a", "b"] }
  const text = JSON.stringify({ httpMethod: "POST", headers, body: btoa("{}"), isBase64Encoded: true })
  expect(found(text)).toMatchObject({ method: "POST", headers: { "x-one": "1", many: "a, b" }, body: "{}" })
  expect(found('{"headers":[{"name":"A","value":"b"}],"body":"x"}')).toMatchObject({
    headers: { a: "b" },
    body: "x",
  })
})

test.each([
  ["curl http://h/ -d 'abc", "the pasted curl command can't be read: "],
  ["curl http://h/ -H", "the pasted curl command ends after -H"],
  ["echo e30= | base64 -d | curl http://h/ --data-binary @-", "what was pasted is not a request: "],
  ["curl http://h/ --data-binary @-", "reads the body from a pipe: give it with --body FILE"],
  ['{"id":1}', "what was pasted is JSON, but not a request: headers is missing"],
  ...["null", "[null]", '[{"name":"a"}]', '"a: b"'].map((it): [string, string] => [
    `{"headers":${it},"body":"x"}`,
    "what was pasted is JSON, but not a request, ",
  ]),
  ...['"body":null', '"body_base64":null', '"url":5', '"method":null'].map((it): [string, string] => [
    `{"headers":{},${it}}`,
    "what was pasted is JSON, but not a request, ",
  ]),
  ["curl http://h/ -F a=@b", "the pasted curl command has -F: give the body"],
  ["curl http://h/ --data-urlencode a=b", "the pasted curl command has --data-urlencode: give the body"],
  ["{", "what was pasted begins like JSON and is not valid JSON: "],
  ["hello", "what was pasted is not a request: a line is not a header"],
])("%p is refused: %s", (text, problem) => {
  expect(() => found(text)).toThrow(problem)
})

test("a sender is found by the headers of its signature, and of its events where several sign alike", () => {
  const of = (names: readonly string[]): string => senderOfHeaders(new Headers(names.map((it) => [it, "x"])))
  expect(of(["Stripe-Signature"])).toBe("stripe")
  expect(of(["X-Hub-Signature-256", "X-GitHub-Event"])).toBe("github")
  expect(() => of(["X-Hub-Signature-256"])).toThrow("those of github, meta: name the sender with --provider")
  expect(() => of(["webhook-id", "webhook-timestamp", "webhook-signature"])).toThrow(", …: name")
  expect(() => of([])).toThrow("not those of a known sender")
})

test("a file that a pasted command names is read only where files may be", () => {
  const command = "curl -d @/etc/hostname http://localhost/hooks"
  expect(found(command).body).toBe(
    readFileSync("/etc/hostname")
      .toString("latin1")
      .replaceAll(/[\r\n]/g, ""),
  )
  expect(() => parsePasted(Buffer.from(command), undefined)).toThrow("paste it with the body itself")
})
