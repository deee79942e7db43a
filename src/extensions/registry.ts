import type { SectionList } from "../admin/extension-state.ts"
import type { ProblemKind } from "../admin/problems/finding.ts"
import { PROBLEM_KINDS } from "../admin/problems/subjects.ts"
import type { Extension } from "./define-extension.ts"
import { reconcile } from "./reconcile/section.ts"
import { silence } from "./silence/section.ts"

/** Every extension, in the order in which their sections are shown. */
export const extensions: readonly Extension[] = [reconcile, silence]

/** Every kind of problem. */
export const problemKinds: readonly ProblemKind[] = [
  ...PROBLEM_KINDS,
  ...extensions.flatMap(({ problems }) => problems),
]

/** The kinds of sections that configure them: `[<kind>:<id>]`. */
export const sectionKinds: readonly string[] = extensions.flatMap(({ name, sections }) =>
  sections === undefined ? [] : name,
)

/** The lists of their sections in the admin API. */
export const sectionLists: readonly SectionList[] = extensions.flatMap(({ sections }) => sections ?? [])
