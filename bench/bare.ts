/** What the pipelines are measured against: reads the body, answers 200. Prints its port. */
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    await request.arrayBuffer()
    return new Response(null, { status: 200 })
  },
})
console.log(server.port)
