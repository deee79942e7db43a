import { expect, spyOn, test } from "bun:test"
import { someOf } from "../../../test/support/cases.ts"
import { PRESETS } from "../presets/presets.ts"
import { findFamily } from "../presets/providers.ts"
import { diagnose } from "./diagnosis.ts"
import { reportOf } from "./report.ts"
import { visible } from "./visible.ts"

const BYTES = 1_000_000
const BODIES: { readonly [name: string]: Uint8Array } = {
  "bytes that are in no UTF-8": new Uint8Array(BYTES).fill(0xff),
  "letters and bytes that are no UTF-8": Uint8Array.from({ length: BYTES }, (_, at) =>
    at % 2 ? 0xe9 : 0x61,
  ),
  "JSON of letters beyond ASCII": Buffer.from(JSON.stringify({ a: "x\u00e9".repeat(BYTES / 3) })),
  "JSON in Latin-1": Buffer.from(JSON.stringify({ a: "\u00e9/<".repeat(BYTES / 3) }), "latin1"),
  "JSON of many members": Buffer.from(JSON.stringify(Array.from({ length: BYTES / 12 }, (_, n) => ({ n })))),
  "control characters": new Uint8Array(BYTES).fill(0x01),
  "line ends": Buffer.from("\r\n".repeat(BYTES / 2)),
}
/** Providers whose scheme is tried in place of the one that the request was refused by. */
const TRIED = Object.keys(PRESETS).filter((name) => findFamily(name)?.signer !== undefined)

/** How often the event loop turned during work, by a clock on which each slice is over at once. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let nowMs = performance.now()
  using _clock = spyOn(performance, "now").mockImplementation(() => (nowMs += 1000))
  let turns = 0
  let turning = setImmediate(function turn() {
    turns++
    turning = setImmediate(turn)
  })
  await work()
  clearImmediate(turning)
  return turns
}

test.each(someOf(Object.entries(BODIES), 3))(
  "a refused request of 1 MB is explained in slices of the event loop: %s",
  async (_, body) => {
    for (const provider of ["github", "standard-webhooks"]) {
      const inquiry = {
        provider,
        settings: { secret: [`whsec_${btoa("obviously-fake-secret-of-32-bytes")}`] },
        nowMs: Date.now(),
        pipeline: "a",
        request: {
          method: "POST",
          path: "/in",
          query: "",
          url: "https://hooks.example.com/in",
          headers: new Headers({
            "X-Hub-Signature-256": `sha256=${"ab".repeat(32)}`,
            "webhook-id": "msg_1",
            "webhook-timestamp": `${Math.floor(Date.now() / 1000)}`,
            "webhook-signature": `v1,${"ab".repeat(21)}Y=`,
          }),
          body,
        },
      }
      let shown = ""
      const turns = await turnsDuring(async () => {
        shown = JSON.stringify(await reportOf(inquiry, await diagnose(inquiry)))
      })
      expect(turns).toBeGreaterThanOrEqual(TRIED.length)
      expect(shown).toContain("no_match")
      // what a person reads of it
      expect(shown.length).toBeLessThan(BYTES)
      expect(shown).toContain("more bytes)")
    }
  },
)

test.each(Object.entries(BODIES))("a body of 1 MB is shown in time of its length: %s", (_, body) => {
  expect(visible(body).length).toBeGreaterThan(0)
})

test.each([
  [[0xc0, 0xaf], "⟨0xC0⟩⟨0xAF⟩"],
  [[0xe0, 0x80, 0x80], "⟨0xE0⟩⟨0x80⟩⟨0x80⟩"],
  [[0xed, 0xa0, 0x80], "⟨0xED⟩⟨0xA0⟩⟨0x80⟩"],
  [[0xf4, 0x90, 0x80, 0x80], "⟨0xF4⟩⟨0x90⟩⟨0x80⟩⟨0x80⟩"],
  [[0xf0, 0x9f, 0x98, 0x80, 0xff], "😀⟨0xFF⟩"],
  [[0xef, 0xbf, 0xbd, 0xff], "\uFFFD⟨0xFF⟩"],
])("overlong forms, surrogates and beginnings of characters are shown byte by byte: %p", (bytes, shown) => {
  expect(visible(Uint8Array.from(bytes))).toBe(shown)
})
