/** What the pipelines are measured against: reads the body, answers 200. Listens on the port that its argument names. */
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  async fetch(request) {
    await request.arrayBuffer()
    return new Response(null, { status: 200 })
  },
})
