import { iso, type Sample, type SampleEvent, type Samples } from "./sample-event.ts"
import { COMMERCE } from "./samples-commerce.ts"
import { DEVELOPMENT } from "./samples-development.ts"
import { MESSAGES } from "./samples-messages.ts"
import { OPERATIONS } from "./samples-operations.ts"

/** Providers that have a sample of their own. */
export const SAMPLES: Samples = { ...DEVELOPMENT, ...COMMERCE, ...MESSAGES, ...OPERATIONS }

/** For the rest, and for those who name no provider. */
const GENERAL: Sample = {
  body: (event) => ({
    id: event.id,
    type: "sample.created",
    created_at: iso(event),
    number: event.number,
    data: { note: `Sample event ${event.number}` },
  }),
}

/** A sample event as it is sent, apart from its signature. */
export function sampleRequest(
  provider: string | undefined,
  event: SampleEvent,
): { headers: Headers; body: Uint8Array } {
  const sample = provider !== undefined && Object.hasOwn(SAMPLES, provider) ? SAMPLES[provider]! : GENERAL
  const headers = new Headers(sample.headers?.(event))
  const content = sample.body(event)
  const isForm = content instanceof URLSearchParams
  headers.set("Content-Type", isForm ? "application/x-www-form-urlencoded" : "application/json")
  return { headers, body: Buffer.from(isForm ? content.toString() : JSON.stringify(content)) }
}
