import { mergedProblems } from "../problems/merged-problems.ts"
import type { OverviewDeps } from "./overview.ts"
import { ServiceProblem } from "./problem-shapes.ts"
import { route, type ApiRoute } from "./route.ts"
import { Type } from "./shape.ts"

export const problemsRoute = ({ sampler, replicas }: OverviewDeps): ApiRoute =>
  route("GET /api/problems", {
    summary:
      "What needs someone's action, of all replicas: errors first, then warnings, then what has been over for less than five minutes.",
    response: Type.Array(ServiceProblem),
    async answer({ request }) {
      await sampler.fresh()
      return mergedProblems(sampler.problems, replicas.current(request))
    },
  })
