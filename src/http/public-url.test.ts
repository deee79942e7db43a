import { expect, test } from "bun:test"
import { parsePublicUrl, publicUrl } from "./public-url.ts"

const request = (headers: { [name: string]: string } = {}, query = "a=%2C&b=1") => ({
  path: "/in/it",
  query,
  headers: new Headers({ Host: "10.0.0.7:8080", ...headers }),
})
const direct = { configured: undefined, isTls: false, proxies: 0 }
const forwarded = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "hooks.example.com" }

test.each([
  ["what the request itself says", direct, {}, "http://10.0.0.7:8080/in/it?a=%2C&b=1"],
  ["https where the connection is", { ...direct, isTls: true }, {}, "https://10.0.0.7:8080/in/it?a=%2C&b=1"],
  ["nothing of what a stranger forwards", direct, forwarded, "http://10.0.0.7:8080/in/it?a=%2C&b=1"],
  [
    "what a trusted proxy forwards",
    { ...direct, proxies: 1 },
    forwarded,
    "https://hooks.example.com/in/it?a=%2C&b=1",
  ],
  [
    "what the outermost of several trusted proxies was sent",
    { ...direct, proxies: 2 },
    { "X-Forwarded-Proto": "https, http", "X-Forwarded-Host": "hooks.example.com, inner" },
    "https://hooks.example.com/in/it?a=%2C&b=1",
  ],
  [
    "nothing of what the sender wrote before what a trusted proxy adds",
    { ...direct, proxies: 1 },
    { "X-Forwarded-Proto": "ftp, https", "X-Forwarded-Host": "evil.example, hooks.example.com" },
    "https://hooks.example.com/in/it?a=%2C&b=1",
  ],
  [
    "nor before what several add",
    { ...direct, proxies: 2 },
    { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example, hooks.example.com, inner" },
    "https://hooks.example.com/in/it?a=%2C&b=1",
  ],
  [
    "a configured origin before the request's own path and query",
    { ...direct, proxies: 1, configured: parsePublicUrl("https://pub.example.com:8443") },
    forwarded,
    "https://pub.example.com:8443/in/it?a=%2C&b=1",
  ],
  [
    "a configured path in place of the request's",
    { ...direct, configured: parsePublicUrl("https://pub.example.com/hooks/twilio") },
    {},
    "https://pub.example.com/hooks/twilio?a=%2C&b=1",
  ],
  [
    "a configured query in place of the request's",
    { ...direct, configured: parsePublicUrl("https://pub.example.com/t?x=1") },
    {},
    "https://pub.example.com/t?x=1",
  ],
])("the public URL is %s", (_name, source, headers, expected) => {
  expect(publicUrl(source, request(headers))).toBe(expected)
})

test("a request without a query gives a URL without one", () => {
  expect(publicUrl(direct, request({}, ""))).toBe("http://10.0.0.7:8080/in/it")
})

test.each([
  "hooks.example.com",
  "ftp://h/",
  "https://",
  "/in",
  "https://h/#f",
  "https://h/a b",
  "https://h:port/",
])("%s is no public URL", (text) => expect(parsePublicUrl(text)).toBeUndefined())
