/** Publishes each item of a member as an event of its own: `[pipeline:<id>:Split]`. */
import { defineComponent, Dropped, option } from "hookline"

export const split = defineComponent({
  kind: "processor",
  name: "Split",
  summary: "Publishes each item of a member as an event of its own.",
  options: { member: option.text({ default: "items", doc: "The member that has the list." }) },
  create: ({ member }) => {
    const encoder = new TextEncoder()
    const invalid = new Dropped("no_list", `no list in ${member}`, { isInvalid: true })
    return (event) => {
      const items = event.json<{ [name: string]: unknown }>()[member]
      if (!Array.isArray(items)) return invalid
      return event.split(items.map((item) => encoder.encode(JSON.stringify(item))))
    }
  },
})
