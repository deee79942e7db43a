// Hot path: every event passes here.
import { splice } from "../json/splice.ts"
import { toName } from "../json/name.ts"
import { defineComponent } from "./define-component.ts"
import { toLocalTime } from "./local-time.ts"

const NAMES = [toName("received_at"), toName("source")]

/** The members of the last millisecond, which events of all pipelines share. */
let formattedMs = Number.NaN
let members = Buffer.alloc(0)

/** Adds `received_at` and `source`, replacing members of these names. */
export const enricher = defineComponent({
  kind: "processor",
  name: "Enricher",
  summary: "Adds received_at (local time with milliseconds and offset) and source (webhook) to the object.",
  options: {},
  create() {
    return (event) => {
      if (event.receivedAtMs !== formattedMs) {
        formattedMs = event.receivedAtMs
        members = Buffer.from(`"received_at":"${toLocalTime(formattedMs)}","source":"webhook"`)
      }
      event.body = splice(event.body, NAMES, members)
      return event
    }
  },
})
