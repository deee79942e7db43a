import { expect, test } from "bun:test"
import { textOf } from "../../../test/support/documents.ts"
import { PRESETS } from "../presets/presets.ts"
import { HANDSHAKES } from "./handshakes.ts"

const CONTEXT = {
  sign: () => "",
  verifyTokens: ["token"],
  confirms: false,
  learn: () => false,
  fetch: () => Promise.reject(new Error("nothing is fetched here")),
}

test.each(Object.entries(HANDSHAKES))(
  "the handshake of %s is of a preset and documented, with each method that it accepts",
  (name, { make, says }) => {
    expect(PRESETS).toHaveProperty([name])
    const lines = textOf("docs/providers.md").split("\n")
    for (const [asked, answered] of says) expect(lines).toContain(`| \`${name}\` | ${asked} | ${answered} |`)
    const asked = says.map(([it]) => it).join("; ")
    for (const method of make(CONTEXT).methods ?? []) expect(asked).toContain(method)
    expect(says).not.toEqual([])
  },
)
