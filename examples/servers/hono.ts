/** Hookline in Hono: `bun examples/servers/hono.ts [PORT] [DIRECTORY]`. */
import { Hono } from "hono"
import { getConnInfo } from "hono/bun"
import { app, port } from "./application.ts"

const hono = new Hono()
hono.post("/webhook", (c) => app.fetch(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }))

const { url } = Bun.serve({ hostname: "127.0.0.1", port, fetch: hono.fetch })
console.log(url.href)
