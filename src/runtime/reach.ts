import { reachRedis } from "../dedupe/redis-client.ts"
import type { Diagnosis } from "./diagnosis.ts"
import type { Plan } from "./plan/plan.ts"

/** What a connection or a store answers. */
export interface Reached {
  /** `connection kafka`, `store redis://localhost` */
  readonly name: string
  /** Whether events could be published, or keys kept. */
  readonly isUsable: boolean
  /** A line for each address and topic. */
  readonly answers: readonly string[]
}

/** Connects to the brokers, stores and schema registries of a plan, and publishes nothing. */
export async function reach(
  plan: Plan,
  { topics, stores, schemas }: Pick<Diagnosis, "topics" | "stores" | "schemas">,
): Promise<Reached[]> {
  const reached = [...plan.connections].map(async ([id, connection]): Promise<Reached | undefined> => {
    if (connection.kind !== "kafka") return undefined
    const { reachKafka } = await import("../brokers/kafka/reach.ts")
    const found = await reachKafka(connection.values, topics.get(id) ?? [])
    return { name: `connection ${id}`, ...found }
  })
  const ofStores = stores.map(async (server): Promise<Reached> => {
    const problem = await reachRedis(server)
    return {
      name: "store",
      isUsable: problem === undefined,
      answers: [problem ?? `${server.name} answers`],
    }
  })
  const ofSchemas = schemas.map(async ({ schemas, topics }): Promise<Reached> => {
    const found = await schemas.reach(topics)
    const isUsable = found.every((it) => it.isUsable)
    return { name: `schema registry ${schemas.url}`, isUsable, answers: found.map(({ answer }) => answer) }
  })
  return (await Promise.all([...reached, ...ofStores, ...ofSchemas])).filter((it) => it !== undefined)
}
