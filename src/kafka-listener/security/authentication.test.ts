import { expect, test } from "bun:test"
import { ClientAuthentication } from "./authentication.ts"
import { usersOf } from "./credentials.ts"

const PASSWORD = "obviously-fake"
const users = usersOf([`billing:${PASSWORD}`])

/** The salt and iterations that a client gets for a user's name, as the server's first message has them. */
function challenge(mechanism: string, name: string, known = users): string {
  const authentication = new ClientAuthentication(known, false)
  authentication.begin(mechanism, true)
  const step = authentication.take(Buffer.from(`n,,n=${name},r=nonce`))
  if (step === "refused") throw new Error("refused")
  return /s=.*$/.exec(Buffer.from(step.reply).toString())![0]
}

test.each(["SCRAM-SHA-256", "SCRAM-SHA-512"])(
  "%s does not show whether a user exists: each name has a salt of its own, always the same",
  (mechanism) => {
    const names = ["billing", "audit", "nobody"]
    const first = names.map((name) => challenge(mechanism, name))
    expect(new Set(first).size).toBe(3)
    for (const text of first) expect(text).toMatch(/^s=[A-Za-z0-9+/]{22}==,i=4096$/)
    expect(names.map((name) => challenge(mechanism, name))).toEqual(first)
    // nor does a reload, by which `billing` is nobody's and `audit` a user's
    const reloaded = usersOf([`audit:${PASSWORD}`])
    expect(names.map((name) => challenge(mechanism, name, reloaded))).toEqual(first)
  },
)
