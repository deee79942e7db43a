import { expect, test } from "bun:test"
import { components } from "../../components/registry.ts"
import { ADMIN } from "../sections/admin.ts"
import { EMBEDDED } from "../sections/embedded-connection.ts"
import { KAFKA } from "../sections/kafka-connection.ts"
import { SERVICE } from "../sections/service.ts"

const options = [KAFKA, EMBEDDED, ADMIN, SERVICE, ...components].flatMap(({ title, options }) =>
  Object.entries(options).map(([key, option]) => ({ title, key, option })),
)

test.each(options)(
  "$title $key: its key can be found, it is documented, its default is right",
  ({ key, option }) => {
    expect(key).toBe(key.toLowerCase())
    expect(option.doc).toMatch(/^[A-Z`][^]*\.$/)
    if (option.defaultText !== undefined) {
      const value: unknown = option.parse(option.defaultText, { baseDir: "/" })
      expect(option.fromCode(value)).toEqual(value)
    }
  },
)
