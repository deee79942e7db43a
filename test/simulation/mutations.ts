import { KAFKA_MUTATIONS } from "./kafka/mutations.ts"
import { STORAGE_MUTATIONS } from "./storage/mutations.ts"
import type { Mutation } from "./mutation.ts"

/** All of them, in the order of the table in docs/simulation.md. */
export const MUTATIONS: readonly Mutation[] = [...KAFKA_MUTATIONS, ...STORAGE_MUTATIONS]
