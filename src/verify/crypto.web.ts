import { Buffer } from "node:buffer"
import { asBuffer } from "../json/tokens.ts"
import { joined, type Algorithm, type Encoding, type Mac, type Pieces } from "./pieces.ts"
import type { Verifier } from "./verifier.ts"

/*
 * What crypto.ts has, by Web Crypto, which every runtime has and which answers later: what synchronous code asks for is
 * thrown as Pending, and when the answer is there, `settle` runs the code again, which then finds it.
 */

type Bytes = Uint8Array<ArrayBuffer>

class Pending {
  readonly answer: Promise<unknown>

  constructor(answer: Promise<unknown>) {
    this.answer = answer
  }
}

/** The answers of one call of `settle`, by what was asked. */
class Answers {
  readonly #found = new Map<string, unknown>()
  readonly #bytes: Uint8Array[] = []

  /** @param question equal for equal questions, together with the pieces */
  of<T>(question: string, pieces: Pieces, ask: (bytes: Bytes) => Promise<T>): T {
    const id = JSON.stringify([
      question,
      ...pieces.map((it) => (typeof it === "string" ? it : this.#number(it))),
    ])
    if (this.#found.has(id)) return this.#found.get(id) as T
    throw new Pending(ask(joined(pieces) as Bytes).then((answer) => this.#found.set(id, answer)))
  }

  #number(bytes: Uint8Array): number {
    const known = this.#bytes.findIndex((it) => it === bytes || asBuffer(it).equals(bytes))
    return known < 0 ? this.#bytes.push(bytes) - 1 : known
  }
}

/** Those of the call that runs: it asks before it awaits anything. */
let answers: Answers | undefined

function answered<T>(question: string, pieces: Pieces, ask: (bytes: Bytes) => Promise<T>): T {
  if (answers === undefined) throw new Error("called outside of settle()")
  return answers.of(question, pieces, ask)
}

export async function settle<T>(run: () => T | Promise<T>): Promise<T> {
  const own = new Answers()
  for (;;) {
    try {
      return await asking(own, run)
    } catch (error) {
      if (!(error instanceof Pending)) throw error
      await error.answer
    }
  }
}

function asking<T>(own: Answers, run: () => T): T {
  const outer = answers
  answers = own
  try {
    return run()
  } finally {
    answers = outer
  }
}

export const settled = (verifier: Verifier): Verifier => ({
  ...verifier,
  verify: (request, nowMs) => settle(() => verifier.verify(request, nowMs)),
  explain: (request, nowMs) => settle(() => verifier.explain(request, nowMs)),
})

export function mac(algorithm: Algorithm, secret: Uint8Array): Mac {
  const key = Buffer.from(secret)
  const question = `${algorithm} ${key.toString("hex")}`
  const hmac = { name: "HMAC", hash: algorithm.replace("sha", "SHA-") }
  return (pieces, encoding) => {
    const digest = answered(question, pieces, async (bytes) => {
      const imported = await crypto.subtle.importKey("raw", key as Bytes, hmac, false, ["sign"])
      return crypto.subtle.sign("HMAC", imported, bytes)
    })
    return Buffer.from(digest).toString(encoding)
  }
}

export function sha256(pieces: Pieces, encoding: Encoding): string {
  const digest = answered("sha256", pieces, (bytes) => crypto.subtle.digest("SHA-256", bytes))
  return Buffer.from(digest).toString(encoding)
}

export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && differences(left, right) === 0
}

/** Takes as long for each text of a length, whatever the secret. */
export function secretTest(secret: string): (text: string) => boolean {
  const expected = Buffer.from(secret)
  return (text) => {
    const bytes = Buffer.from(text)
    return ((bytes.length ^ expected.length) | differences(bytes, expected)) === 0
  }
}

/** The bits that differ, the second's bytes repeated. Does not stop at the first. */
function differences(bytes: Uint8Array, others: Uint8Array): number {
  let found = 0
  for (let i = 0; i < bytes.length; i++) found |= bytes[i]! ^ others[i % others.length]!
  return found
}

export function ed25519Test(raw: Uint8Array): (signed: Pieces, signature: Uint8Array) => boolean {
  return (signed, signature) =>
    answered(`ed25519 ${Buffer.from(signature).toString("hex")}`, signed, async (bytes) => {
      const key = await crypto.subtle.importKey("raw", raw as Bytes, "Ed25519", false, ["verify"])
      return crypto.subtle.verify("Ed25519", key, signature as Bytes, bytes)
    })
}
