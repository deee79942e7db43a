// Fastify: node fastify.mjs. The body has to be the bytes as received: all content types are kept as they are.
import fastify from "fastify"
import { verify } from "hookline/verify"

const app = fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body))

app.post("/webhooks/stripe", async ({ method, url, headers, body }, reply) => {
  const result = await verify(
    { method, url, headers, body },
    { provider: "stripe", secret: process.env.STRIPE_WEBHOOK_SECRET },
  )
  if (!result.isVerified) return reply.code(result.status).send()
  return { received: JSON.parse(body).id }
})

export default app
const port = process.env.PORT
if (port) app.listen({ port }, () => console.log(`listening on port ${port}`))
