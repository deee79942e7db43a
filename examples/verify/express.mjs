// Express: node express.mjs. The body has to be the bytes as received: before express.json(), which would change them.
import express from "express"
import { verify } from "hookline/verify"

const app = express()

// Express 5 passes on what is thrown
// oxlint-disable-next-line oxc/no-async-endpoint-handlers
app.post("/webhooks/stripe", express.raw({ type: () => true }), async (request, response) => {
  const { method, originalUrl: url, headers, body } = request
  const result = await verify(
    { method, url, headers, body },
    { provider: "stripe", secret: process.env.STRIPE_WEBHOOK_SECRET },
  )
  if (!result.isVerified) return response.sendStatus(result.status)
  response.json({ received: JSON.parse(body).id })
})

export default app
const port = process.env.PORT
if (port) app.listen(port, () => console.log(`listening on port ${port}`))
