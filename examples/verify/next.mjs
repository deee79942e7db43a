// Next.js: app/webhooks/stripe/route.js
import { verify } from "hookline/verify"

export async function POST(request) {
  const result = await verify(request, { provider: "stripe", secret: process.env.STRIPE_WEBHOOK_SECRET })
  if (!result.isVerified) {
    console.warn(`refused: ${result.reason} (${result.detail})`)
    return new Response(null, { status: result.status })
  }
  const event = await request.json()
  return Response.json({ received: event.id })
}
