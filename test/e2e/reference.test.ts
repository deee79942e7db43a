import { expect, test } from "bun:test"
import { renderReference } from "../../scripts/reference.ts"
import { duration, oneOf, text } from "../../src/config/options/option-types.ts"
import { defineSection } from "../../src/config/options/section.ts"

test("a section is a heading, its summary and a table of its options", () => {
  const section = defineSection({
    title: "Thing",
    aliases: ["Other", "Another"],
    summary: "Does a thing.",
    options: {
      needed: text({ form: "this | that", doc: "One\nline." }),
      wait: duration({ default: "5s", doc: "How long." }),
      body: text({ default: "", doc: "What." }),
      mode: oneOf(["a", "b"], { optional: true, secret: true, doc: "Which." }),
    },
  })
  expect(renderReference([section])).toContain(`
## \`[pipeline:<id>:Thing]\`

Does a thing. Also called \`Other\`, \`Another\`.

| key | form | default | meaning |
|---|---|---|---|
| \`needed\` | this \\| that | required | One line. |
| \`wait\` | a duration such as 500ms, 5s, 2m, 24h or 7d | \`5s\` | How long. |
| \`body\` | a text | empty | What. |
| \`mode\` | a or b | none | Which. Never printed. |
`)
})
