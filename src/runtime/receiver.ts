import { publishedPlaceOf, type Captures } from "../admin/captured.ts"
import type { Receiver } from "../admin/service.ts"
import type { Servers } from "../http/server.ts"

/** What the admin API asks of this process. */
export function receiverOf(captures: Captures, servers: () => Servers): Receiver {
  return {
    captured: async (query) => captures.list(query),
    capturedRequest: async (id) => captures.find(id),
    capturedRefusals: async () => captures.refused,
    clearCaptured: async () => captures.clear(),
    async submit({ pipeline, submission }) {
      const startMs = performance.now()
      const submitted = await servers().submit(pipeline, submission)
      if (submitted === undefined) return undefined
      const { response, answered } = submitted
      const body = new Uint8Array(await response.arrayBuffer())
      return {
        status: response.status,
        headers: [...response.headers],
        body,
        durationMs: performance.now() - startMs,
        place: answered && publishedPlaceOf(answered),
      }
    },
  }
}
