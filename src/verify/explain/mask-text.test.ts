import { expect, test } from "bun:test"
import { maskRequest } from "./mask-request.ts"

const SECRET = "obviously-fake-0123"
const PEM = `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`
const base64 = (text: string): string => Buffer.from(text).toString("base64")
const form = "application/x-www-form-urlencoded"
const multipart = (...parts: string[]): string =>
  [...parts.map((it) => `--b\r\n${it}\r\n`), "--b--\r\n"].join("")
const field = (name: string, value: string): string =>
  `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`

async function shownOf(headers: { [name: string]: string }, body = "{}", query = ""): Promise<string> {
  const url = `https://hooks.example.com/in${query}`
  const request = { method: "POST", path: "/in", query: query.slice(1), url, headers: new Headers(headers) }
  const masked = await maskRequest({ ...request, body: Buffer.from(body) }, [], 0)
  return [masked.url, ...masked.headers.map((it) => it.join(": ")), Buffer.from(masked.body).toString()].join(
    "\n",
  )
}

/** Names that every place of a name is tried with. */
const NAMES = ["password", "access_token", "clientSecret", "api-key", "webhook_signature"]
const HEADERS = [
  "Authorization",
  "Proxy-Authorization",
  "Authentication",
  "X-Forwarded-Authorization",
  "Cookie",
  "Set-Cookie",
  "X-Api-Key",
  "Apikey",
  "X-Goog-Api-Key",
  "X-RapidAPI-Key",
  "DD-API-KEY",
  "DD-APPLICATION-KEY",
  "Ocp-Apim-Subscription-Key",
  "X-Functions-Key",
  "Aeg-Sas-Key",
  "X-Parse-Master-Key",
  "X-Auth-Key",
  "X-Webhook-Key",
  "X-Secret-Key",
  "X-Vault-Token",
  "Private-Token",
  "X-Amz-Security-Token",
  "X-Shopify-Access-Token",
  "X-Csrf-Token",
  "X-Session-Id",
  "X-Hook-Secret",
  "OK-ACCESS-PASSPHRASE",
  "CB-ACCESS-SIGN",
  "X-Signature-Ed25519",
  "X-User-Password",
]
const PLACES: { readonly [place: string]: (name: string) => readonly [body: string, type?: string] } = {
  "a member": (name) => [`{"id":1,"${name}":"${SECRET}"}`],
  "a member of a nested object": (name) => [`{"a":[{"b":{"${name}" : "${SECRET}"}}]}`],
  "a name with an escape": (name) => [
    `{"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}":"${SECRET}"}`,
  ],
  "a list under the name": (name) => [`{"${name}":["a","${SECRET}"]}`],
  "the plural of the name": (name) => [`{"${name}s":["${SECRET}"]}`],
  "an object under the name": (name) => [`{"${name}":{"current":{"value":"${SECRET}"}}}`],
  "JSON in a string": (name) => [JSON.stringify({ Message: JSON.stringify({ [name]: SECRET }) })],
  "JSON in a string of JSON in a string": (name) => [
    JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ [name]: SECRET }) }) }),
  ],
  "JSON in base64": (name) => [
    JSON.stringify({ message: { data: base64(JSON.stringify({ [name]: SECRET })) } }),
  ],
  "a name and a value": (name) => [JSON.stringify({ headers: [{ name, value: SECRET }] })],
  "a value and a name": (name) => [JSON.stringify({ headers: [{ value: SECRET, key: name }] })],
  "a pair": (name) => [JSON.stringify({ headers: [[name, SECRET]] })],
  "JSON that is cut off": (name) => [`{"a":1,"${name}":"${SECRET}`],
  "names without quotes": (name) => [`{${name.replaceAll("-", "_")}: "${SECRET}"}`],
  "single quotes": (name) => [`{'${name}': '${SECRET}'}`],
  "lines of JSON": (name) => [`{"id":1}\n{"${name}":"${SECRET}"}\n`],
  "a form": (name) => [`a=1&${name}=${SECRET}&b=2`, form],
  "a form's nested name": (name) => [`a=1&user[${name}]=${SECRET}`, form],
  "a form's list": (name) => [`${name}[]=a&${name}[]=${SECRET}`, form],
  "a form's name with escapes": (name) => [
    `%${name.charCodeAt(0).toString(16)}${name.slice(1)}=${SECRET}`,
    form,
  ],
  "JSON in a form": (name) => [`payload=${encodeURIComponent(JSON.stringify({ [name]: SECRET }))}`, form],
  "a multipart field": (name) => [
    multipart(field("a", "1"), field(name, SECRET)),
    "multipart/form-data; boundary=b",
  ],
  "JSON in a multipart field": (name) => [
    multipart(field("a", JSON.stringify({ [name]: SECRET }))),
    "multipart/form-data; boundary=b",
  ],
  "an element": (name) => [`<a><${name} n="1">${SECRET}</${name}></a>`, "application/xml"],
  "an attribute": (name) => [`<a ${name}="${SECRET}"/>`, "text/xml"],
  "a line": (name) => [`id: 1\n${name}: ${SECRET}\n`, "text/plain"],
  "a URL in a string": (name) => [`{"url":"https://a.example/?x=1&${name}=${SECRET}"}`],
}

test.each(HEADERS)("the value of the header %s is masked", async (name) => {
  for (const value of [SECRET, `Bearer ${SECRET}`])
    expect(await shownOf({ [name]: value })).not.toContain(SECRET)
})

for (const [place, at] of Object.entries(PLACES))
  test.each(NAMES)(`a credential is masked in a body: ${place}, %s`, async (name) => {
    const [body, type = "application/json"] = at(name)
    expect(body.includes(SECRET) || body.includes("message")).toBe(true)
    const shown = await shownOf({ "Content-Type": type }, body)
    expect(shown).not.toContain(SECRET)
    expect(shown).not.toContain(base64(SECRET).slice(4, 16))
    for (const [, data] of shown.matchAll(/"data":"([^"]*)"/g))
      expect(Buffer.from(data!, "base64").toString()).not.toContain(SECRET)
  })

test.each(NAMES)("a credential is masked in the query, also where its name is nested: %s", async (name) => {
  expect(await shownOf({}, "", `?a=1&${name}=${SECRET}`)).not.toContain(SECRET)
  expect(await shownOf({}, "", `?user[${name}]=${SECRET}`)).not.toContain(SECRET)
  expect(await shownOf({ Referer: `https://a.example/?${name}=${SECRET}` })).not.toContain(SECRET)
})

test.each([
  `https://user:${SECRET}@example.com/`,
  `Bearer ${SECRET}`,
  `ghp_${SECRET.replaceAll("-", "")}`,
  `xoxb-${SECRET}`,
  `sk_live_${SECRET.replaceAll("-", "")}`,
  PEM,
])("what has the form of a credential is masked under any name: %j", async (text) => {
  const shown = await shownOf(
    { "X-Note": text.replaceAll("\n", " ") },
    JSON.stringify({ note: `see ${text}` }),
  )
  expect(shown).not.toContain(SECRET)
  expect(shown).not.toContain(SECRET.replaceAll("-", ""))
})

test.each([
  '{"id":"evt_1","total_tokens":4096,"note":"password","design":"flat","issue_key":"AB-1","code":"E1"}',
  '{"password":null,"token":true,"credentials":[],"secret":""}',
  '{"a":"caf\u00e9 \\u20ac","b":"{\\"c\\":\\"\\u20ac\\"}","n":1.50e3}',
  "<a><name>x</name></a>",
  "a=1&b=two+words&c[]=3",
  "",
])("what is no credential stays as it is, byte for byte: %s", async (body) => {
  expect(await shownOf({}, body)).toEndWith(`\n${body}`)
})

test("a masked member leaves the rest of its JSON as it was, also where a string of JSON is rewritten", async () => {
  const body = '{ "n": 1.50, "m": "{\\"token\\":\\"x-obviously-fake\\",\\"e\\":\\"\\u20ac\u00e9\\"}" }'
  const shown = (await shownOf({}, body)).split("\n").at(-1)!
  const { m } = JSON.parse(shown) as { m: string }
  expect(JSON.parse(m)).toEqual({ token: "(16 characters)", e: "\u20ac\u00e9" })
  expect(shown).toStartWith('{ "n": 1.50, "m": "')
})
