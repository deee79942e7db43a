import type { Acknowledgements } from "../problems/acknowledgements.ts"
import { mergedProblems } from "../problems/merged-problems.ts"
import type { OverviewDeps } from "./overview.ts"
import { Acknowledgement, Mute, ServiceProblem } from "./problem-shapes.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute } from "./route.ts"
import { Type } from "./shape.ts"

/** The time for which an acknowledgement holds without one of its own. */
const ACKNOWLEDGED_MS = 24 * 3_600_000

const params = Type.Object({ id: Type.String({ maxLength: 400 }) })
const body = Type.Object({
  by: Acknowledgement.properties.by,
  until: Type.Optional(Acknowledgement.properties.until),
})

export const problemRoutes = (deps: OverviewDeps): ApiRoute[] => [
  ...listRoutes(deps),
  ...acknowledgementRoutes(deps),
]

const listed = ({ sampler, replicas }: OverviewDeps, request: Request): ServiceProblem[] =>
  mergedProblems(sampler.problems, replicas.current(request))

const listRoutes = (deps: OverviewDeps): ApiRoute[] => [
  route("GET /api/problems", {
    summary:
      "What needs someone's action, of all replicas: errors first, then warnings, then what was acknowledged or muted, then what has been over for less than five minutes.",
    response: Type.Array(ServiceProblem),
    async answer({ request }) {
      await deps.sampler.fresh()
      return listed(deps, request)
    },
  }),
  route("GET /api/mutes", {
    summary: "The problems and kinds of problems that are muted, whether or not there is one now.",
    response: Type.Array(Mute),
    answer: () =>
      deps.sampler.problems.acknowledgements.muted(Date.now()).map(([name, it]) => ({ name, ...it })),
  }),
]

/** Changes it in this replica and, where they share no store, in the others. @returns the problems */
async function change(
  deps: OverviewDeps,
  [group, id, by]: Parameters<Acknowledgements["set"]>,
  request: Request,
): Promise<ServiceProblem[]> {
  const { sampler, replicas } = deps
  await sampler.problems.acknowledgements.set(group, id, by)
  const action = by === undefined ? "unmute" : group === "muted" ? "mute" : "acknowledge"
  const path = `problems/${encodeURIComponent(id)}/${action}`
  await Promise.all(replicas.answering(request).map((it) => it.does(path, "POST", by)))
  await sampler.sample()
  return listed(deps, request)
}

function acknowledgementRoutes(deps: OverviewDeps): ApiRoute[] {
  return [
    route("POST /api/problems/:id/acknowledge", {
      summary:
        "Says that somebody is on a problem, until it is over or until a time, by default for a day. Returns the problems.",
      params,
      body,
      response: Type.Array(ServiceProblem),
      answer({ params: { id }, body: { by, until }, request, note }) {
        if (!listed(deps, request).some((it) => it.id === id && it.until === null))
          throw new ApiError(404, `no problem has the id ${id} now`)
        note({ problem: id, by })
        const acknowledgement = { by, until: until ?? Date.now() + ACKNOWLEDGED_MS }
        return change(deps, ["acknowledged", id, acknowledgement], request)
      },
    }),
    route("POST /api/problems/:id/mute", {
      summary:
        "Mutes a problem, or all of a kind, until a time or until it is taken back, also those that begin later. Returns the problems.",
      params,
      body,
      response: Type.Array(ServiceProblem),
      answer({ params: { id }, body: { by, until = null }, request, note }) {
        const [kind] = id.split(":")
        if (!deps.service.problemKinds.some(({ name }) => name === kind))
          throw new ApiError(404, `${kind} is no kind of problem`)
        note({ problem: id, by })
        return change(deps, ["muted", id, { by, until }], request)
      },
    }),
    route("POST /api/problems/:id/unmute", {
      summary: "Takes back that a problem or a kind is acknowledged or muted. Returns the problems.",
      params,
      response: Type.Array(ServiceProblem),
      async answer({ params: { id }, request, note }) {
        note({ problem: id })
        await deps.sampler.problems.acknowledgements.set("acknowledged", id, undefined)
        return change(deps, ["muted", id, undefined], request)
      },
    }),
  ]
}
