import type { Violation } from "./world.ts"

/** What a run of a scenario has shown. */
export interface Outcome {
  readonly violations: readonly Violation[]
  /** Events that have happened. */
  readonly steps: number
  /** What happened, in lines. */
  readonly history: () => string
  /** Equal for equal runs. */
  readonly hash: () => string
}

/** What a simulation needs: its steps can be taken out one by one, and it can be kept as JSON. */
export interface Scenario {
  /** The simulation's name. */
  readonly simulation: string
  readonly seed: number
  readonly steps: readonly unknown[]
}

/** A kind of run. */
export interface Simulation<S extends Scenario = Scenario> {
  readonly name: string
  readonly scenarioOf: (seed: number) => S
  readonly run: (scenario: S) => Outcome
}
