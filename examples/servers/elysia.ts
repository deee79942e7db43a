/** Hookline in Elysia: `bun examples/servers/elysia.ts [PORT] [DIRECTORY]`. */
import { Elysia } from "elysia"
import { app, port } from "./application.ts"

const elysia = new Elysia()
  .post(
    "/webhook",
    ({ request, server }) => app.fetch(request, { remoteAddress: server?.requestIP(request)?.address }),
    // Hookline reads the body
    { parse: "none" },
  )
  .listen({ hostname: "127.0.0.1", port })
console.log(elysia.server?.url.href)
