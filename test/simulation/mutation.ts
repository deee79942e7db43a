import type { SourceChange } from "./source-changes.ts"

/** A guard taken out of the program, which a simulation must find. */
export interface Mutation {
  /** The guard. */
  readonly name: string
  /** The simulation that finds it. */
  readonly simulation: string
  readonly changes: readonly SourceChange[]
  /** What the finding says, where another one would not show what the guard is for. */
  readonly finding?: string
}
