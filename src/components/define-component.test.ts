import { expect, test } from "bun:test"
import { text } from "../config/options/option-types.ts"
import { defineComponent } from "./define-component.ts"

test.each(["live", "restart"] as const)(
  "an option that a reload would not make the component anew with (%s) is refused",
  (reload) => {
    const declare = (): unknown =>
      defineComponent({
        kind: "processor",
        name: "Tag",
        summary: "",
        options: { tag: text({ doc: "", reload }) },
        create: () => (event) => event,
      })
    expect(declare).toThrow("component Tag, option tag")
  },
)
