import type { ServiceProblem } from "../api/problem-shapes.ts"
import type { Replica } from "../replicas.ts"
import { inOrder, type ProblemList } from "./problem-list.ts"
import { replicas as replicaSubject } from "./subjects/replicas.ts"

const ofReplicas = new Set(replicaSubject.kinds.map(({ name }) => name))

/** The problems of all replicas, each once. What another one says of replicas is left out: this one says it, too. */
export function mergedProblems(
  own: ProblemList,
  replicas: readonly Replica[],
  most = Infinity,
): ServiceProblem[] {
  const all = new Map(own.current().map((it) => [it.id, it]))
  for (const { name: replica, overview } of replicas)
    for (const it of overview?.problems ?? []) {
      if (ofReplicas.has(it.kind)) continue
      const known = all.get(it.id)
      // where one replica has recovered it lasts on the other
      if (known === undefined || (known.until !== null && it.until === null))
        all.set(it.id, { ...it, replica })
    }
  return inOrder(all.values()).slice(0, most)
}
