import { expect, test } from "bun:test"
import { components } from "../components/registry.ts"
import { ADMIN } from "./admin.ts"
import { EMBEDDED } from "./embedded-connection.ts"
import { KAFKA } from "./kafka-connection.ts"
import { duration, oneOf, text } from "./options.ts"
import { renderReference } from "./reference.ts"
import { defineSection } from "./section.ts"
import { SERVICE } from "./service.ts"

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

const options = [KAFKA, EMBEDDED, ADMIN, SERVICE, ...components].flatMap(({ title, options }) =>
  Object.entries(options).map(([key, option]) => ({ title, key, option })),
)

test.each(options)(
  "$title $key: its key can be found, it is documented, its default is right",
  ({ key, option }) => {
    expect(key).toBe(key.toLowerCase())
    expect(option.doc).toMatch(/^[A-Z`][^]*\.$/)
    if (option.defaultText !== undefined) {
      expect(option.wrong(option.parse(option.defaultText, { baseDir: "/" }))).toBeUndefined()
    }
  },
)
