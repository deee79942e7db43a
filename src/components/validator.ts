// Hot path: every event passes here.
import { oneOf } from "../config/options.ts"
import { Dropped, Rejected } from "../event.ts"
import { findFlaw } from "../json/check.ts"
import { defineComponent } from "./component.ts"

/** Refuses, or drops, what is not one JSON object in UTF-8. */
export const Validator = defineComponent({
  kind: "processor",
  name: "Validator",
  summary: "Refuses a body that is not a JSON object in UTF-8.",
  options: {
    on_invalid: oneOf(["reject", "drop"], {
      default: "reject",
      doc: "What becomes of an invalid body: reject answers 400, drop answers as if it were accepted and publishes nothing.",
    }),
  },
  create({ on_invalid }) {
    return (event) => {
      const flaw = findFlaw(event.body)
      if (flaw === undefined) return event
      return on_invalid === "drop"
        ? new Dropped(flaw.rule, flaw.detail)
        : new Rejected(400, flaw.rule, flaw.detail)
    }
  },
})
