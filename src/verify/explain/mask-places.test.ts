import { describe, expect, test } from "bun:test"
import { maskRequest } from "./mask-request.ts"

/*
 * Places of a request where a secret may stand, by its name or by its form. In each of them it is masked, and what stands next
 * to it is not.
 */

const SECRET = "obviously-fake-0123"
const KEPT = "kept-text-4567"
const JWT = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${"c2lnbmF0dXJl".repeat(2)}`
const PEM_BODY = "MIIEobviouslyfake0123456789abcdefghijklmnop"
const pem = (kind: string): string => `-----BEGIN ${kind}-----\n${PEM_BODY}\n-----END ${kind}-----`
const base64 = (text: string): string => Buffer.from(text).toString("base64")

interface Place {
  readonly headers?: { readonly [name: string]: string }
  readonly query?: string
  readonly path?: string
  readonly body?: string | Uint8Array
  /** What is not shown; default: SECRET. */
  readonly secret?: string
  /** Whether nothing next to it is to be kept. */
  readonly isAlone?: true
}

const json = (value: unknown): Place => ({ body: JSON.stringify(value) })
const part = (head: string, value: string): Place => ({
  headers: { "Content-Type": "multipart/form-data; boundary=b" },
  body: `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n--b\r\nContent-Disposition: form-data; name="note"\r\n\r\n${KEPT}\r\n--b--\r\n`,
})
const text = (body: string): Place => ({ headers: { "Content-Type": "text/plain" }, body })
const xml = (body: string): Place => ({ headers: { "Content-Type": "application/xml" }, body })
const form = (body: string): Place => ({
  headers: { "Content-Type": "application/x-www-form-urlencoded" },
  body,
})
const header = (name: string, value: string): Place => ({ headers: { [name]: value }, body: KEPT })

const OBJECT = `{"note":"${KEPT}","password":"${SECRET}"}`

const PLACES: { readonly [place: string]: Place } = {
  // ---- headers
  "Authorization: Bearer": header("Authorization", `Bearer ${SECRET}`),
  "Authorization: Basic": header("Authorization", `Basic ${base64(`user:${SECRET}`)}`),
  "Authorization without a scheme": header("Authorization", SECRET),
  "Authorization: Digest": header("Authorization", `Digest username="u", response="${SECRET}"`),
  "Proxy-Authorization": header("Proxy-Authorization", `Basic ${SECRET}`),
  Cookie: header("Cookie", `a=1; session=${SECRET}`),
  "an API key": header("X-Api-Key", SECRET),
  "a secret in a name of its own": header("X-Acme-Webhook-Secret", SECRET),
  "an access token": header("X-Shopify-Access-Token", SECRET),
  "a JWT in a header of any name": { ...header("X-Assertion", JWT), secret: JWT },
  "a URL with a password in Referer": header("Referer", `https://user:${SECRET}@a.example/`),
  "a URL with a token for a user": header("X-Callback", `https://${SECRET}@a.example/`),
  "a query in a header's URL": header("X-Original-URL", `/in?token=${SECRET}`),
  "a query in a URL of Link": header("Link", `<https://a.example/?access_token=${SECRET}>; rel="next"`),
  "name=value in a header": header("X-Context", `tenant=1; api_key=${SECRET}`),
  "JSON in a header": header("X-Context", OBJECT),
  "JSON in base64 in a header": header("X-Context", base64(OBJECT)),
  "a client certificate's private key": {
    ...header("X-Key", encodeURIComponent(pem("RSA PRIVATE KEY"))),
    secret: PEM_BODY,
  },

  // ---- the URL
  "the query": { query: `note=${KEPT}&token=${SECRET}` },
  "the query, a name with escapes": { query: `note=${KEPT}&%74oken=${SECRET}` },
  "the query, in upper case": { query: `note=${KEPT}&API_KEY=${SECRET}` },
  "the query, nested": { query: `note=${KEPT}&user%5Bpassword%5D=${SECRET}` },
  "the query, without a name": { query: `note=${KEPT}&${SECRET}` },
  "the query, separated by semicolons": { query: `note=${KEPT};token=${SECRET}` },
  "the query, JSON": { query: `note=${KEPT}&state=${encodeURIComponent(OBJECT.replace(KEPT, ""))}` },
  "the query, a URL": {
    query: `note=${KEPT}&next=${encodeURIComponent(`https://a.example/?token=${SECRET}`)}`,
  },
  "a JWT in the query": { query: `note=${KEPT}&x=${JWT}`, secret: JWT },
  "a JWT in the path": { path: `/in/${JWT}`, body: KEPT, secret: JWT },
  "a token of a known form in the path": { path: `/in/ghp_${"0a".repeat(18)}`, body: KEPT, secret: `ghp_0a` },

  // ---- JSON
  "a member": json({ note: KEPT, password: SECRET }),
  "a member, deep": json({ a: { b: [{ c: { note: KEPT, client_secret: SECRET } }] } }),
  "a member whose name has other letters": { body: `{"note":"${KEPT}","pass\\u0077ord":"${SECRET}"}` },
  "a list of secrets": json({ note: KEPT, secrets: [SECRET, SECRET] }),
  "a number": { body: `{"note":"${KEPT}","passcode":98765432}`, secret: "98765432" },
  "a name and a value": json({ note: KEPT, headers: [{ name: "Authorization", value: SECRET }] }),
  "a name and a value, capital": json({ note: KEPT, headers: [{ Name: "Authorization", Value: SECRET }] }),
  "a pair": json({ note: KEPT, headers: [["x-api-key", SECRET]] }),
  "a list of names and values by turns": json({
    note: KEPT,
    rawHeaders: ["Host", "h", "Authorization", SECRET],
  }),
  "JSON behind a byte-order mark": { body: `\ufeff${OBJECT}` },
  "JSON behind white space": { body: `\r\n\t ${OBJECT}` },
  "JSON behind NUL": { body: `\0${OBJECT}` },
  "JSON behind )]}',": { body: `)]}',\n${OBJECT}` },
  "JSON behind while(1);": { body: `while(1);${OBJECT}` },
  "JSON behind a comment": { body: `// generated\n${OBJECT}` },
  "JSON behind a comment of several lines": { body: `/* "quoted" {\n */ ${OBJECT}` },
  "JSON with a comment in it": { body: `{"note":"${KEPT}", /* it's */ "password": "${SECRET}"}` },
  "JSON behind words": { body: `event received: ${OBJECT}` },
  "JSON of JSONP": { body: `callback(${OBJECT});` },
  "JSON behind data:": { body: `event: message\ndata: ${OBJECT}\n\n` },
  "JSON behind a record separator": { body: `\x1e${OBJECT}\n` },
  "JSON in a text of JSON": json({ Message: OBJECT }),
  "JSON behind a byte-order mark in a text of JSON": json({ Message: `\ufeff${OBJECT}` }),
  "JSON in base64 in JSON": { ...json({ note: KEPT, data: base64(JSON.stringify({ token: SECRET })) }) },
  "JSON in base64 with line ends": {
    ...json({
      note: KEPT,
      data: base64(JSON.stringify({ token: SECRET, more: "x".repeat(90) })).replace(/.{76}/g, "$&\r\n"),
    }),
  },
  "JSON in base64url": json({
    note: KEPT,
    data: Buffer.from(JSON.stringify({ a: "??>>", token: SECRET })).toString("base64url"),
  }),
  "lines of JSON": { body: `{"note":"${KEPT}"}\n${OBJECT}\n` },
  "JSON that is cut off": { body: `{"note":"${KEPT}","password":"${SECRET}` },
  "JSON that ends too often": { body: `{"note":"${KEPT}"}} {"password":"${SECRET}"}` },
  "a word without quotes": { body: `{note: '${KEPT}', password: ${SECRET}}` },
  "JSON in UTF-16": { body: Buffer.from(OBJECT, "utf16le") },
  "a form in a text of JSON": json({ note: KEPT, body: `a=1&password=${SECRET}` }),
  "a URL with a password in JSON": json({ note: KEPT, url: `postgres://user:${SECRET}@db/x` }),
  "a URL with a token for a user in JSON": json({ note: KEPT, url: `https://${SECRET}@github.com/o/r.git` }),
  "a URL with a query in JSON": json({ note: KEPT, url: `https://a.example/?sig=${SECRET}` }),
  "a URL with a fragment in JSON": json({
    note: KEPT,
    url: `https://a.example/cb#access_token=${SECRET}&x=1`,
  }),
  "a JWT in JSON": { ...json({ note: KEPT, x: `see ${JWT}` }), secret: JWT },
  "a PEM block in JSON": { ...json({ note: KEPT, x: pem("PRIVATE KEY") }), secret: PEM_BODY },
  "an encrypted PEM block in JSON": {
    ...json({ note: KEPT, x: pem("ENCRYPTED PRIVATE KEY") }),
    secret: PEM_BODY,
  },
  "an OpenSSH key in JSON": { ...json({ note: KEPT, x: pem("OPENSSH PRIVATE KEY") }), secret: PEM_BODY },
  "a PGP key in JSON": { ...json({ note: KEPT, x: pem("PGP PRIVATE KEY BLOCK") }), secret: PEM_BODY },
  "a line in a text of JSON": json({ note: KEPT, log: `id: 1\npassword: ${SECRET}` }),
  "name=value in a text of JSON": json({ note: KEPT, log: `connect host=h password=${SECRET} now` }),
  "name: value in a text of JSON": json({ note: KEPT, log: `failed with password: ${SECRET} again` }),
  "XML in a text of JSON": json({ note: KEPT, xml: `<a><password>${SECRET}</password></a>` }),

  // ---- forms
  "a form": form(`note=${KEPT}&password=${SECRET}`),
  "a form, at its beginning": form(`password=${SECRET}&note=${KEPT}`),
  "a form, a name with escapes": form(`note=${KEPT}&%70assword=${SECRET}`),
  "a form, nested": form(`note=${KEPT}&user[password]=${SECRET}`),
  "a form, a list": form(`note=${KEPT}&tokens[]=a&tokens[]=${SECRET}`),
  "a form, JSON": form(`note=${KEPT}&payload=${encodeURIComponent(JSON.stringify({ token: SECRET }))}`),
  "a form, a line end behind it": form(`note=${KEPT}&password=${SECRET}\r\n`),
  "a form, with spaces": form(`note=${KEPT} x&password=${SECRET}`),
  "a form, a URL": form(`note=${KEPT}&u=${encodeURIComponent(`https://a:${SECRET}@b.example/`)}`),
  "a form, a PEM block": {
    ...form(`note=${KEPT}&k=${encodeURIComponent(pem("PRIVATE KEY"))}`),
    secret: PEM_BODY,
  },

  // ---- multipart
  "a field": part('name="password"', SECRET),
  "a field without quotes": part("name=password", SECRET),
  "a field with name*": part("name*=UTF-8''pass%77ord", SECRET),
  "a field whose name has a quote": part('name="my\\"password"', SECRET),
  "a field, JSON": part('name="payload"', JSON.stringify({ token: SECRET })),
  "a file": part('name="f"; filename="a.json"', JSON.stringify({ token: SECRET })),
  "a file whose name says so": part('name="f"; filename="password"', SECRET),
  "a file whose filename* says so": part("name=\"f\"; filename*=UTF-8''api%2Dkey", SECRET),
  "a field, a PEM block": { ...part('name="f"', pem("PRIVATE KEY")), secret: PEM_BODY },
  "a field behind a preamble": {
    ...part('name="password"', SECRET),
    body: `preamble\r\n${part('name="password"', SECRET).body as string}`,
  },
  "a field behind an empty line": {
    ...part('name="password"', SECRET),
    body: `\r\n${part('name="password"', SECRET).body as string}`,
  },
  "a field with line feeds alone": {
    ...part("", ""),
    body: (part('name="password"', SECRET).body as string).replaceAll("\r\n", "\n"),
  },
  "a credential in a part's header": part(`name="f"\r\nAuthorization: Bearer ${SECRET}`, "x"),

  // ---- XML
  "an element": xml(`<a><note>${KEPT}</note><password>${SECRET}</password></a>`),
  "an element with attributes": xml(`<a><note>${KEPT}</note><password type="x">${SECRET}</password></a>`),
  "an element of a namespace": xml(`<a><note>${KEPT}</note><w:Password>${SECRET}</w:Password></a>`),
  "an element with CDATA": xml(`<a><note>${KEPT}</note><password><![CDATA[${SECRET}<x>]]></password></a>`),
  "an element with an element": xml(
    `<a><note>${KEPT}</note><password><value>${SECRET}</value></password></a>`,
  ),
  "an element that is cut off": xml(`<a><note>${KEPT}</note><password>${SECRET}`),
  "an attribute": xml(`<a note="${KEPT}" password="${SECRET}"/>`),
  "an attribute in single quotes": xml(`<a note='${KEPT}' password='${SECRET}'/>`),
  "an attribute with spaces": xml(`<a note="${KEPT}" password = "${SECRET}"/>`),
  "a name and a value in attributes": xml(
    `<a><p name="password" value="${SECRET}"/><note>${KEPT}</note></a>`,
  ),
  "JSON in an element": xml(`<a><note>${KEPT}</note><p>{"password":"${SECRET}"}</p></a>`),
  "XML behind a byte-order mark": xml(`\ufeff<a><note>${KEPT}</note><password>${SECRET}</password></a>`),

  // ---- text
  "a line": text(`note: ${KEPT}\npassword: ${SECRET}\n`),
  "a line with quotes": text(`note: ${KEPT}\n"password": "${SECRET}"\n`),
  "a line with =": text(`NOTE=${KEPT}\nAPI_KEY=${SECRET}\n`),
  "a line with export": text(`export NOTE=${KEPT}\nexport API_KEY="${SECRET}"\n`),
  "a list item of YAML": text(`note: ${KEPT}\nusers:\n  - password: ${SECRET}\n`),
  "name=value in a line": text(`note ${KEPT} password=${SECRET} end`),
  "name: value in a line": text(`note ${KEPT}, password: ${SECRET}, end`),
  "a header in a line": text(`note ${KEPT}\nAuthorization: Bearer ${SECRET}\n`),
  "curl -H": text(`note ${KEPT}; curl -H "X-Api-Key: ${SECRET}" https://a.example/`),
  "a PEM block": { ...text(`${pem("EC PRIVATE KEY")}\n${KEPT}`), secret: PEM_BODY },
  "a PEM block with headers": {
    ...text(
      `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n${PEM_BODY}\n-----END RSA PRIVATE KEY-----\n${KEPT}`,
    ),
    secret: PEM_BODY,
  },
  "a PEM block that is cut off": {
    ...text(`${KEPT}\n-----BEGIN PRIVATE KEY-----\n${PEM_BODY}`),
    secret: PEM_BODY,
  },
  "a token of a known form": { ...text(`note ${KEPT} sk_live_${"0a".repeat(12)}`), secret: "sk_live_0a" },
  "a URL with a password in text": text(`note ${KEPT} amqp://user:${SECRET}@mq/`),
  "a URL with a token for a user in text": text(`note ${KEPT} https://${SECRET}@a.example/`),
  "a URL with a query in text": text(`note ${KEPT} https://a.example/?token=${SECRET}`),
  "Basic in a text": {
    ...text(`note ${KEPT} Basic ${base64("user:obviously")}`),
    secret: base64("user:obviously"),
  },
}

async function shownOf({ headers = {}, path = "/in", query = "", body = KEPT }: Place): Promise<string> {
  const url = `https://hooks.example.com${path}${query === "" ? "" : `?${query}`}`
  const request = { method: "POST", path, query, url, headers: new Headers(headers) }
  const masked = await maskRequest({ ...request, body: Buffer.from(body as string) }, [], 0)
  const lines = [masked.url, ...masked.headers.map((it) => it.join(": "))]
  const bytes = Buffer.from(masked.body)
  return [...lines, bytes.toString("latin1"), bytes.toString("utf16le")].join("\n")
}

/** As it is, and by the escapes and encodings that a reader undoes. */
function readings(shown: string): string[] {
  const undone = [shown]
  for (const [run] of shown.matchAll(/[A-Za-z\d+/_-]{16,}={0,2}/g))
    undone.push(Buffer.from(run, "base64").toString())
  for (const [run] of shown.replace(/\\r\\n/g, "").matchAll(/[A-Za-z\d+/_-]{16,}={0,2}/g))
    undone.push(Buffer.from(run, "base64").toString())
  for (const [run] of shown.matchAll(/(?:%[\da-f]{2}|[\w.-])+/gi)) {
    try {
      undone.push(decodeURIComponent(run))
    } catch {
      // no escapes
    }
  }
  return undone
}

describe.each(Object.entries(PLACES))("%s", (_name, place) => {
  test("is masked, and what is next to it is shown", async () => {
    const { secret = SECRET } = place
    const shown = await shownOf(place)
    for (const it of readings(shown)) expect(it).not.toContain(secret)
    if (JSON.stringify(place).includes(KEPT)) expect(shown).toContain(KEPT)
  })
})

test("there are more than a hundred of them", () => {
  expect(Object.keys(PLACES).length).toBeGreaterThan(100)
})
