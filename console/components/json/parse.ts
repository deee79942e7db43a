/**
 * JSON as it was sent: numbers and escapes keep their spelling, members their order, and a name that is there twice stays
 * twice. JSON.parse loses all of these.
 */
export type JsonNode = JsonScalar | JsonArray | JsonObject

export interface JsonScalar {
  readonly kind: "string" | "number" | "literal"
  /** As it is spelled; a string with its quotes. */
  readonly text: string
}

export interface JsonArray {
  readonly kind: "array"
  readonly items: JsonNode[]
}

export interface JsonObject {
  readonly kind: "object"
  /** Names are spelled as they were, with their quotes. */
  readonly members: { readonly name: string; readonly value: JsonNode }[]
}

/** A parser's next token: one of `{}[]:,`, or a scalar. */
type Token = string | JsonScalar

/** @returns undefined: it is not JSON. Nesting of any depth is taken. */
export function parseJson(text: string): JsonNode | undefined {
  const tokens = new Tokens(text)
  const open: (JsonArray | JsonObject)[] = []
  let name = ""
  let token = tokens.next()
  /** Goes on to a member's value; the token is to be its name. */
  const readName = (): boolean => {
    if (typeof token !== "object" || token.kind !== "string") return false
    name = token.text
    if (tokens.next() !== ":") return false
    token = tokens.next()
    return true
  }
  for (;;) {
    const value = valueOf(token)
    if (value === undefined) return undefined
    const parent = open.at(-1)
    if (parent?.kind === "array") parent.items.push(value)
    else parent?.members.push({ name, value })
    if (value.kind === "array" || value.kind === "object") {
      open.push(value)
      token = tokens.next()
      if (token !== endOf(value)) {
        if (value.kind === "object" && !readName()) return undefined
        continue
      }
      open.pop()
    }
    let last = value
    for (token = undefined; token !== ",";) {
      const parent = open.at(-1)
      if (parent === undefined) return tokens.isOver() ? last : undefined
      token = tokens.next()
      if (token === ",") continue
      if (token !== endOf(parent)) return undefined
      last = open.pop()!
    }
    token = tokens.next()
    if (open.at(-1)!.kind === "object" && !readName()) return undefined
  }
}

function valueOf(token: Token | undefined): JsonNode | undefined {
  if (typeof token === "object") return token
  if (token === "{") return { kind: "object", members: [] }
  return token === "[" ? { kind: "array", items: [] } : undefined
}

const endOf = ({ kind }: JsonArray | JsonObject): string => (kind === "object" ? "}" : "]")

const BLANKS = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERAL = /true|false|null/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** https://www.rfc-editor.org/rfc/rfc8259#section-2 */
class Tokens {
  readonly #text: string
  #at: number

  constructor(text: string) {
    this.#text = text
    this.#at = text.startsWith("\ufeff") ? 1 : 0
  }

  /** @returns undefined: there is none */
  next(): Token | undefined {
    this.#match(BLANKS)
    const first = this.#text.charAt(this.#at)
    if (first === '"') return this.#string()
    if (first !== "" && "{}[]:,".includes(first)) {
      this.#at++
      return first
    }
    const number = this.#match(NUMBER)
    if (number !== undefined) return { kind: "number", text: number }
    const literal = this.#match(LITERAL)
    return literal === undefined ? undefined : { kind: "literal", text: literal }
  }

  isOver(): boolean {
    this.#match(BLANKS)
    return this.#at === this.#text.length
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  /** By hand: regular expressions run out of stack in strings of megabytes. */
  #string(): JsonScalar | undefined {
    const start = this.#at++
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === 0x5c) {
        if (this.#match(ESCAPE) === undefined) return undefined
      } else if (code >= 0x20) {
        this.#at++
        if (code === 0x22) return { kind: "string", text: this.#text.slice(start, this.#at) }
      } else return undefined // a control character, or the end
    }
  }
}
