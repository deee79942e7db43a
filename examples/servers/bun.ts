/** Hookline in Bun.serve: `bun examples/servers/bun.ts [PORT] [DIRECTORY]`. */
import { app, port } from "./application.ts"

const { url } = Bun.serve({
  hostname: "127.0.0.1",
  port,
  routes: { "/webhook": (request, server) => app.fetch(request, server) },
  fetch: () => new Response("Not found", { status: 404 }),
})
console.log(url.href)
