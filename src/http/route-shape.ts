import type { Deadlines } from "../clock/deadlines.ts"
import { Answered, type Rejected } from "../pipeline/outcome.ts"
import { acceptedAnswer, methodNotAllowed, type AcceptedAnswer } from "./answer.ts"
import type { BodyLimits } from "./body.ts"
import type { Route } from "./route.ts"

/** What depends on a route's limits and answers only: many pipelines have the same. */
export interface Shape {
  readonly bodyLimits: BodyLimits
  readonly accepted: AcceptedAnswer
  /** Methods other than POST that may be answered. */
  readonly methods: readonly string[]
  /** Methods that ask whether the URL is reached: where the handler does not answer them, `probe` does. */
  readonly probes: readonly string[]
  readonly probe: Answered
  readonly wrongMethod: Rejected
}

export interface ShapeDeps {
  readonly bodyDeadlines: Deadlines
  /** Whether the server guarantees that a body has its declared length. */
  readonly isFramed: boolean
  /** What endpoints of one shape have in common. */
  readonly shapes: Map<string, Shape>
}

/** A sender that is set to GET in place of POST has to see a 405, so GET is answered only where the configuration says so. */
const DEFAULT_PROBES: readonly string[] = ["HEAD"]
const PROBES: readonly string[] = ["GET", "HEAD"]

/** The shape of a route, the same for all routes that have it. */
export function shapeOf(route: Route, { bodyDeadlines: deadlines, isFramed, shapes }: ShapeDeps): Shape {
  const { maxBodyBytes, response, probeStatus: status, handler } = route
  const key = JSON.stringify([maxBodyBytes, response, status, handler.response, handler.methods])
  return shapes.getOrInsertComputed(key, () => {
    const probes = status === undefined ? DEFAULT_PROBES : PROBES
    const methods = [...new Set([...handler.methods, ...probes])]
    return {
      bodyLimits: { maxBytes: maxBodyBytes, deadlines, isFramed },
      accepted: acceptedAnswer(response, handler.response),
      methods,
      probes,
      probe: new Answered("probe", { status: status ?? 200, isRoutine: true }),
      wrongMethod: methodNotAllowed(methods),
    }
  })
}
