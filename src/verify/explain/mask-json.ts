import { hidden, isSecretName } from "./secret-names.ts"

/*
 * Masks the values of a JSON text that stand under the name of a credential, or next to one. Text that is malformed or cut off
 * is read as far as it goes. What is not masked stays as it is, byte for byte.
 */

/** Comments, strings with either quote, whose last one may be missing at the end, brackets, commas, and words. */
const JSON_TOKEN =
  /\/\/[^\n]*|\/\*.*?(?:\*\/|$)|"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?|[{}[\],]|[^\s{}[\],:"']+/gs
/** Deeper brackets are read as if they were not there. */
const MAX_DEPTH = 1000
/** A member that names what the member VALUE of the same object is. */
const LABEL = /^(?:name|key|header|field|label)$/i
const VALUE = /^values?$/i

interface Frame {
  readonly isList: boolean
  /** Whether all that comes in it is a credential's. */
  hides: boolean
  /** How many elements of a list were read. */
  count: number
  /** Whether the next element is a credential, since this one is its name. */
  hidesNext: boolean
  /** The name of the member whose value comes; undefined: a name comes. */
  member: string | undefined
  /** Whether a member says that the value is a credential's. */
  isLabelled: boolean
  /** The value that came before its label. */
  value: { readonly at: number; readonly token: string } | undefined
}

class JsonMasker {
  readonly #inner: (text: string) => string
  readonly #edits = new Map<number, { readonly end: number; readonly shown: string }>()
  readonly #stack: Frame[] = []
  /** The frame of texts that follow each other. */
  #top: Frame = { ...frameOf(true, false), count: 1 }
  #tooDeep = 0

  /** @param inner masks the text of a string or comment */
  constructor(inner: (text: string) => string) {
    this.#inner = inner
  }

  /** The masked value that begins at a bracket, and where it ends: its last bracket, or the end of a text that is cut off. */
  mask(text: string, start: number): { readonly shown: string; readonly end: number } {
    JSON_TOKEN.lastIndex = start
    let end = text.length
    for (;;) {
      const found = JSON_TOKEN.exec(text)
      if (found === null) break
      const next = JSON_TOKEN.lastIndex
      this.#read(found[0], found.index)
      // strings within may have been read by the same pattern
      JSON_TOKEN.lastIndex = next
      if (this.#stack.length === 0 && this.#tooDeep === 0) {
        end = next
        break
      }
    }
    return { shown: this.#edited(text, start, end), end }
  }

  #edited(text: string, start: number, end: number): string {
    let shown = ""
    let from = start
    for (const [at, edit] of [...this.#edits].toSorted(([a], [b]) => a - b)) {
      shown += text.slice(from, at) + edit.shown
      from = edit.end
    }
    return shown + text.slice(from, end)
  }

  #read(token: string, at: number): void {
    if (token === "{" || token === "[") this.#open(token === "[")
    else if (token === "}" || token === "]") this.#close()
    else if (token === ",") this.#top.member = undefined
    else if (token.startsWith("//") || token.startsWith("/*")) this.#edit(token, at, this.#inner(token))
    else if (this.#top.isList || this.#top.member !== undefined) this.#value(token, at)
    else this.#top.member = textOf(token)
  }

  get #isHidden(): boolean {
    const { hides, member = "", isLabelled } = this.#top
    return hides || isSecretName(member) || (isLabelled && VALUE.test(member))
  }

  #open(isList: boolean): void {
    if (this.#stack.length === MAX_DEPTH) return void this.#tooDeep++
    const inner = frameOf(isList, this.#isHidden)
    this.#stack.push(this.#top)
    this.#top = inner
  }

  #close(): void {
    if (this.#tooDeep > 0) return void this.#tooDeep--
    const { isLabelled, value } = this.#top
    if (isLabelled && value !== undefined) this.#hide(value.token, value.at)
    this.#top = this.#stack.pop() ?? frameOf(true, false)
  }

  #value(token: string, at: number): void {
    const top = this.#top
    const isNamed = top.hidesNext
    top.hidesNext = false
    const at0 = top.count++
    if (this.#isHidden || isNamed) return this.#hide(token, at)
    if (!isQuoted(token)) return
    const text = textOf(token)
    if (top.isList) {
      // a pair of a name and a value, or a list of names and values by turns
      const isName = NAME.test(text) && isSecretName(text)
      if (at0 === 0) top.hides = isName
      else if (at0 % 2 === 0) top.hidesNext = isName
    } else if (LABEL.test(top.member!)) top.isLabelled ||= isSecretName(text)
    else if (VALUE.test(top.member!)) top.value = { at, token }
    const masked = this.#inner(text)
    if (masked !== text) this.#edit(token, at, quoted(masked))
  }

  #edit(token: string, at: number, shown: string): void {
    if (shown !== token) this.#edits.set(at, { end: at + token.length, shown })
  }

  /** Numbers of up to three digits, counts of tokens, and words such as null are no credentials. */
  #hide(token: string, at: number): void {
    const isCount = /tokens$/i.test(this.#top.member ?? "")
    const isHarmless = isCount ? /^-?[\d.]+$/.test(token) : /^-?\d{1,3}(?!\d)/.test(token)
    const raw = isQuoted(token) ? token.replace(/^["']|(?<=.)["']$/gs, "") : token
    if (raw === "" || (!isQuoted(token) && (isHarmless || WORDS.test(token)))) return
    this.#edit(token, at, quoted(hidden(raw)))
  }
}

const NAME = /^[\w-]{1,100}$/
const WORDS = /^(?:true|false|null|undefined|None|True|False)$/

const frameOf = (isList: boolean, hides: boolean): Frame => ({
  isList,
  hides,
  count: 0,
  hidesNext: false,
  member: undefined,
  isLabelled: false,
  value: undefined,
})

/** Masks the value that begins at a bracket: see JsonMasker. */
export const maskJson = (
  text: string,
  start: number,
  inner: (text: string) => string,
): ReturnType<JsonMasker["mask"]> => new JsonMasker(inner).mask(text, start)

const isQuoted = (token: string): boolean => token.startsWith('"') || token.startsWith("'")

/** The text of a string, or of a word without quotes. */
function textOf(token: string): string {
  if (!isQuoted(token)) return token
  try {
    return String(JSON.parse(token))
  } catch {
    return token.replace(/^["']|(?<=.)["']$/gs, "")
  }
}

/** As JSON whose characters are bytes. */
const quoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[^\0-\u00ff]/g,
    (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
