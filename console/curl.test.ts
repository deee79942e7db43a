import { describe, expect, test } from "bun:test"
import { tmpdir } from "node:os"
import { curlOf } from "./curl.ts"

const post = { method: "POST", url: "http://localhost:8080/a", headers: [], body: Buffer.from("{}") }

describe("curlOf", () => {
  test("a short request is one line, without a Content-Type that was not sent", () => {
    expect(curlOf(post)).toBe("curl -i http://localhost:8080/a -H 'Content-Type:' --data-raw '{}'")
  })

  test("what curl sets by itself is left out, empty headers are sent", () => {
    const headers = [
      { name: "Host", value: "h" },
      { name: "content-length", value: "2" },
      { name: "content-type", value: "application/json" },
      { name: "X-Empty", value: "" },
    ]
    const command =
      "curl -i http://localhost:8080/a -H 'content-type: application/json' -H 'X-Empty;' --data-raw '{}'"
    expect(curlOf({ ...post, headers })).toBe(command)
  })

  test("without a body the method is named", () => {
    expect(curlOf({ ...post, method: "PUT", body: null })).toBe("curl -i -X PUT http://localhost:8080/a")
  })

  const bodies: [string, Uint8Array][] = [
    ["quotes, dollars and newlines", Buffer.from(`{"a":"it's $HOME \\n \`x\`"}\n\n`)],
    ["an @ at the beginning", Buffer.from("@/etc/hostname")],
    ["bytes that are not UTF-8", Uint8Array.of(0xff, 0xfe, 0, 0x0a)],
    ["a NUL", Buffer.from("a\0b")],
    ["a byte-order mark", Buffer.from("\ufeff{}")],
    ["a long one", Buffer.from("x".repeat(500))],
    ["an empty one", new Uint8Array()],
  ]
  test.each(bodies)("a shell sends the same bytes: %s", async (_, body) => {
    const received = Promise.withResolvers<{ body: Uint8Array; header: string | null }>()
    await using server = Bun.serve({
      port: 0,
      async fetch(request) {
        received.resolve({ body: await request.bytes(), header: request.headers.get("x-note") })
        return new Response()
      },
    })
    const headers = [{ name: "X-Note", value: `it's "quoted" $(here)` }]
    const command = curlOf({ method: "POST", url: `${server.url}a?b=c&d=1`, headers, body })
    const shell = Bun.spawn(["sh", "-c", command], { cwd: tmpdir(), stdout: "ignore", stderr: "ignore" })
    expect(await shell.exited).toBe(0)
    const got = await received.promise
    expect(got.header).toBe(headers[0]!.value)
    expect(Buffer.from(got.body).equals(body)).toBe(true)
  })

  test("a body that no command line can have is read from a file, and not looked at", async () => {
    const body = new Proxy(new Uint8Array(8_000_000), {
      get(bytes, key) {
        expect(key).toBe("length")
        return bytes.length
      },
    })
    const command = curlOf({ ...post, body })
    expect(command).toBe(
      "# the body has 8000000 bytes: save it as ./body first\ncurl -i http://localhost:8080/a -H 'Content-Type:' --data-binary @body",
    )
  })
})
