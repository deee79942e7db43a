// Hot path: every event passes here.
import { file, oneOf } from "../config/options/option-types.ts"
import { opening } from "../errors.ts"
import type { Processor } from "../pipeline/event.ts"
import { Dropped, refusedBody, type Rejected, type StepReason } from "../pipeline/outcome.ts"
import { findFlaw, RULES } from "../json/check.ts"
import { isPlainObject } from "../json/object.ts"
import { loadSchema, SCHEMA_RULES } from "../json/schema.ts"
import { defineComponent } from "./define-component.ts"

/** Refuses, or drops, a body that is not one JSON object in UTF-8, or that breaks the schema. */
export const validator = defineComponent({
  kind: "processor",
  name: "Validator",
  summary: "Refuses a body that is not one JSON object in UTF-8, or that breaks a schema.",
  options: {
    on_invalid: oneOf(["reject", "drop"], {
      default: "reject",
      doc: "The answer to an invalid body: reject answers 400, drop answers as for an accepted event and publishes nothing.",
    }),
    schema: file({
      optional: true,
      doc: "A file with a JSON Schema that the object must match: of draft 2020-12, 2019-09 or draft-07, as its $schema says; 2020-12 without one. No $ref is fetched, and format is not checked; what else is not supported is in limits.md. Patterns are matched in bounded time: lookaround and backreferences are refused. With a schema a duplicate member name is invalid, too: consumers may read the other value.",
    }),
  },
  create({ on_invalid, schema }, { log, pipeline }) {
    if (schema === undefined) return WITHOUT_SCHEMA[on_invalid]
    const findMismatch = opening("schema", () =>
      loadSchema(schema, (message) => log.warn({ pipeline, schema }, `JSON Schema: ${message}`)),
    )
    return validating(on_invalid, findMismatch)
  },
})

type OnInvalid = "reject" | "drop"

function validating(onInvalid: OnInvalid, findMismatch?: ReturnType<typeof loadSchema>): Processor {
  const invalid = (reason: StepReason, problem: string): Dropped | Rejected => {
    const refusal = refusedBody(reason, problem)
    return onInvalid === "drop" ? new Dropped(reason, refusal.detail, { isInvalid: true }) : refusal
  }
  const process: Processor = (event) => {
    if (event.isForm) return invalid("form_body", "is a form, and must be a JSON object")
    const flaw = isPlainObject(event.body) ? undefined : findFlaw(event.body)
    if (flaw !== undefined) return invalid(flaw.rule, flaw.problem)
    const mismatch = findMismatch?.(event.body)
    return mismatch === undefined ? event : invalid(mismatch.rule, mismatch.problem)
  }
  const reasons = findMismatch === undefined ? RULES : [...RULES, ...SCHEMA_RULES]
  return Object.assign(process, {
    outcomes: (["form_body", ...reasons] as const).map((it) => invalid(it, "")),
  })
}

/** Nearly all pipelines have no schema, and share these. */
const WITHOUT_SCHEMA: { readonly [on in OnInvalid]: Processor } = {
  reject: validating("reject"),
  drop: validating("drop"),
}
