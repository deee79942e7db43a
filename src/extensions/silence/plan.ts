import type { ConfigurationView } from "../define-extension.ts"

/** A pipeline whose source has `expect_every`. */
export interface Expectation {
  readonly pipeline: string
  readonly everyMs: number
}

/** Finds the pipelines that are to be watched. */
export const expectationsOf = ({ pipelines }: ConfigurationView): readonly Expectation[] =>
  pipelines.flatMap(({ id, source }) => {
    const everyMs = source.values["expect_every"]
    return typeof everyMs === "number" ? [{ pipeline: id, everyMs }] : []
  })
