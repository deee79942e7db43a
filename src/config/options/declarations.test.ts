import { messageInFile } from "../../message.ts"
import { describe, expect, test } from "bun:test"
import { components } from "../../components/registry.ts"
import { ADMIN } from "../sections/admin.ts"
import { fileKinds } from "../../brokers/registry.ts"
import { SERVICE } from "../sections/service.ts"
import { PROVIDER } from "../../verify/presets/own-provider.ts"
import type { OptionSet } from "./option.ts"

const options = [...fileKinds, ADMIN, SERVICE, PROVIDER, ...components].flatMap(({ title, options }) =>
  Object.entries(options as OptionSet).map(([key, option]) => ({ title, key, option, options })),
)

test.each(options)(
  "$title $key: its key can be found, it is documented, its default is right",
  ({ key, option, options }) => {
    expect(key).toBe(key.toLowerCase())
    expect(option.doc).toMatch(/^[A-Z`][^]*\.$/)
    const { only, needs, excludes } = option.relations
    for (const other of [needs, excludes, ...Object.keys(only ?? {})])
      if (other !== undefined) expect(options).toContainKey(other)
    for (const [other, words] of Object.entries(only ?? {}))
      for (const word of words === "on" ? [] : words)
        expect((options as OptionSet)[other]!.fromCode(word)).toBe(word)
    if (option.defaultText !== undefined) {
      const value: unknown = option.parse(option.defaultText, { baseDir: "/" })
      expect(option.fromCode(value)).toEqual(value)
    }
  },
)

describe.each(options.filter(({ key }) => /(?:^|_)header$/.test(key)))(
  "$title $key names a header",
  ({ option }) => {
    const read = (text: string): unknown => option.parse(text, { baseDir: "/" })

    test.each(["X-Signature", "x_sig", "X.Sig|1"])("%p", (name) => {
      expect([read(name)].flat()).toEqual([name])
    })

    test.each(["X Sig", "X-Sig:", "X-Sig: v1", "Signätur", "X\u0000", "(X)", '"X"'])("never %p", (name) => {
      const isNone = "is not a header's name such as X-Signature, without spaces or a colon"
      expect(() => read(name)).toThrow(`${JSON.stringify(name)} ${isNone}`)
      const inCode = messageInFile(option.form).startsWith("a list") ? [name] : name
      expect(() => option.fromCode(inCode)).toThrow(isNone)
    })
  },
)
