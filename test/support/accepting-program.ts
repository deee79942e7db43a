import { writeSync } from "node:fs"

// An app that records are posted to, on the port of its argument. It prints `<offset> <key>` of each record that it accepts before it answers, and fails some.

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  async fetch({ headers }) {
    await Bun.sleep(Math.random() * 20)
    if (Math.random() < 0.02) return new Response("", { status: 503 })
    writeSync(1, `${headers.get("hookline-offset")} ${headers.get("hookline-key")}\n`)
    return new Response()
  },
})
writeSync(1, "serving\n")
