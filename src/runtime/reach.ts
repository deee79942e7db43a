import { toShownUrl } from "../outgoing/shown-url.ts"
import type { Reached } from "../brokers/define-connection.ts"
import { reachRedis } from "../dedupe/redis-client.ts"
import type { Diagnosis } from "./diagnosis.ts"
import type { Plan } from "./plan/plan.ts"

/** What a connection or a store answers. */
interface ReachedPart extends Reached {
  /** `connection kafka`, `store redis://localhost` */
  readonly name: string
}

/** Connects to the brokers, stores and schema registries of a plan, and publishes nothing. */
export async function reach(
  plan: Plan,
  { topics, stores, schemas }: Pick<Diagnosis, "topics" | "stores" | "schemas">,
): Promise<ReachedPart[]> {
  const reached = [...plan.connections].map(
    async ([id, { kind, values }]): Promise<ReachedPart | undefined> => {
      const found = await kind.reach?.(values, topics.get(id) ?? [])
      return found && { name: `connection ${id}`, ...found }
    },
  )
  const ofStores = stores.map(async (server): Promise<ReachedPart> => {
    const problem = await reachRedis(server)
    return {
      name: "store",
      isUsable: problem === undefined,
      answers: [problem ?? `${server.name} answers`],
    }
  })
  const ofSchemas = schemas.map(async ({ schemas, topics }): Promise<ReachedPart> => {
    const found = await schemas.reach(topics)
    const isUsable = found.every((it) => it.isUsable)
    return {
      name: `schema registry ${toShownUrl(schemas.url)}`,
      isUsable,
      answers: found.map(({ answer }) => answer),
    }
  })
  return (await Promise.all([...reached, ...ofStores, ...ofSchemas])).filter((it) => it !== undefined)
}
