/** Leaves top-level members out of events: `[pipeline:<id>:Redact]`. */
import { defineComponent, option } from "hookline"

export const redact = defineComponent({
  kind: "processor",
  name: "Redact",
  summary: "Leaves top-level members out of events.",
  options: { members: option.list(option.text({ doc: "A name." }), { doc: "Names of members." }) },
  create:
    ({ members }) =>
    (event) => {
      const body = { ...event.json<{ [name: string]: unknown }>() }
      if (!members.some((name) => name in body)) return event
      for (const name of members) delete body[name]
      event.body = JSON.stringify(body)
      return event
    },
})
