/** Hookline in h3: `bun examples/servers/h3.ts [PORT] [DIRECTORY]`. */
import { getRequestIP, H3, serve } from "h3"
import { app, port } from "./application.ts"

const h3 = new H3()
h3.post("/webhook", (event) => app.fetch(event.req, { remoteAddress: getRequestIP(event) }))

const server = serve(h3, { hostname: "127.0.0.1", port, silent: true, gracefulShutdown: false })
await server.ready()
console.log(server.url)
