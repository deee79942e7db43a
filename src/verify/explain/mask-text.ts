/*
 * Masks credentials in text of any form: what stands under the name of one, and what has the form of one. JSON, forms and
 * multipart are read, so that escapes, nesting and lists under a name are seen; JSON and forms within strings likewise.
 * Text that is malformed or cut off is read as far as it goes: requests are shown because they were refused.
 *
 * Texts are bytes as Latin-1. What is not masked stays as it is.
 */

/** The end of a name whose value is a credential, in words joined by hyphens. */
const CREDENTIAL =
  /(?:(?<!idempotency-)tokens?|secrets?|passwords?|passwd|passphrases?|passcode|credentials?|authori[sz]ation|authentication|cookies?2?|jwts?)$|(?:^|-)(?:auth|pwd|pass|pin|otp|bearer|session|session-?ids?)$|(?:api|app|application|access|private|secret|subscription|functions?|master|auth|sas|shared|account|client|webhook|signing|encryption|session|consumer|security|service)-?keys?$/
const SIGNATURE = /(?:signatures?|hmacs?|digests?)(?:-?(?:v?\d+|ed-?25519))?$|(?:^|-)(?:sig|sign)$/
/** In headers and queries also: elsewhere these name other things. */
const SHORT = /^(?:key|code)$/

/** A name as words: `clientSecret`, `client_secret` and `Client-Secret` are one. */
const wordsOf = (name: string): string =>
  name
    .slice(0, MAX_NAME)
    .replace(/(?<=[a-z\d])(?=[A-Z])|[^A-Za-z\d]+/g, "-")
    .replace(/^-|-$/g, "")
    .toLowerCase()
const MAX_NAME = 200

export const isTokenName = (name: string): boolean =>
  CREDENTIAL.test(wordsOf(name)) || SHORT.test(name.toLowerCase())
export const isSignatureName = (name: string): boolean => SIGNATURE.test(wordsOf(name))
const isSecretName = (name: string): boolean => {
  const words = wordsOf(name)
  return CREDENTIAL.test(words) || SIGNATURE.test(words)
}
/** Whether a field of a form is a secret's: `user[password]`, `tokens[]`, `a.b`. */
const isSecretPath = (name: string): boolean => name.split(/[[\].]+/).some(isSecretName)

export const hidden = (value: string): string => `(${value.length} characters)`

/** How deep texts within texts are read. */
const MAX_WITHIN = 4
const MULTIPART = /^--([^\r\n]{1,70})\r?\n/
const FORM = /^[^\s=&"<{]+=\S*$/

/** @param within how many texts this one is within */
export function maskText(text: string, within = 0): string {
  if (within > MAX_WITHIN || text.length < 4) return text
  const trimmed = text.trimStart()
  if (trimmed.startsWith("{") || trimmed.startsWith("[")) return maskJson(text, within)
  const [, boundary] = MULTIPART.exec(text) ?? []
  if (boundary !== undefined) return maskMultipart(text, `--${boundary}`, within)
  const bytes = BASE64.test(text) ? Buffer.from(text, "base64").toString("latin1") : ""
  if (bytes.startsWith("{")) {
    const masked = maskText(bytes, within + 1)
    return masked === bytes ? text : Buffer.from(masked, "latin1").toString("base64")
  }
  if (FORM.test(text)) return maskForm(text, isSecretPath, within)
  return maskForms(maskLines(text))
}

const BASE64 = /^[A-Za-z\d+/]{16,}={0,2}$/

/** `name: value`, `name=value`, elements and attributes of XML, and the queries of URLs. */
const maskLines = (text: string): string =>
  maskQueries(text)
    .replace(
      /^([ \t]*)([\w.-]+)([ \t]*[:=][ \t]*)(\S.*)$/gm,
      (all, indent: string, name: string, sign: string, value: string) =>
        isSecretName(name) ? indent + name + sign + hidden(value) : all,
    )
    .replace(/<(?:\w+:)?([\w.-]+)(?=[\s>])[^<>]*>([^<]+)(?=<\/)/g, (all, name: string, value: string) =>
      isSecretName(name) ? all.slice(0, all.length - value.length) + hidden(value) : all,
    )
    .replace(/(?<=\s)([\w.:-]+)(=")([^"<>]+)(?=")/g, (all, name: string, sign: string, value: string) =>
      isSecretName(name) ? name + sign + hidden(value) : all,
    )

const maskQueries = (text: string): string =>
  text.replace(/(?<=\?)[^\s"'<>#?]+/g, (query) => maskForm(query, isQueryName, MAX_WITHIN))
const isQueryName = (name: string): boolean => isSecretPath(name) || SHORT.test(name.toLowerCase())

/** A text in which URLs, tokens and keys may stand, as a header has. */
export const maskValue = (text: string): string => maskForms(maskQueries(text))

/** Looked for at the beginning of a word alone: a long word with many is searched once. */
const FORMS: readonly (readonly [
  form: RegExp,
  of: (all: string, before: string, value: string) => string,
])[] = [
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, hidden],
  [
    /(?<![\w-])(?:gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-|(?:[srp]k|rk)_(?:live|test)_|whsec_|shp(?:at|ca|pa|ss)_|AKIA|SG\.)[\w.-]{8,}/g,
    hidden,
  ],
  [/\b(Bearer|Basic) +([\w.~+/-]{8,}=*)/gi, (_, scheme, value) => `${scheme} ${hidden(value)}`],
  [/(:\/\/[^\s/@:"]*:)([^\s/@"]+)(?=@)/g, (_, before, value) => before + hidden(value)],
  [/(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)([^-]+)/g, (_, before, value) => before + hidden(value)],
]
const maskForms = (text: string): string =>
  FORMS.reduce((masked, [form, of]) => masked.replace(form, of), text)

/** @param isSecret whether a name, decoded, is a credential's */
export function maskForm(text: string, isSecret: (name: string) => boolean, within: number): string {
  const pairs = text.split("&").map((pair) => {
    const at = pair.indexOf("=")
    const value = pair.slice(at + 1)
    if (at === -1 || value === "") return pair
    if (isSecret(decoded(pair.slice(0, at)))) return pair.slice(0, at + 1) + hidden(value)
    const inner = decoded(value)
    const masked = maskText(inner, within + 1)
    return masked === inner ? pair : pair.slice(0, at + 1) + encodeURIComponent(masked)
  })
  return pairs.join("&")
}

/** A parameter without a name may be anything, so its value is hidden. */
export const maskQuery = (text: string): string =>
  maskForm(text, isQueryName, 0).replace(/(?<=^|&)[^&=]+(?=&|$)/g, hidden)

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return text
  }
}

function maskMultipart(text: string, delimiter: string, within: number): string {
  const parts = text.split(delimiter).map((part) => {
    const [, head, value = "", end = ""] = /^(.*?\r?\n\r?\n)(.*?)(\r?\n)?$/s.exec(part) ?? []
    if (head === undefined) return part
    const [, quotedName, bare = ""] = /;[ \t]*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i.exec(head) ?? []
    const isSecret = isSecretPath(decoded(quotedName ?? bare))
    const masked = isSecret ? hidden(value) : maskText(value, within + 1)
    return head + masked + end
  })
  return parts.join(delimiter)
}

/** Strings with either quote, whose last one may be missing at the end, brackets, commas, colons, and words. */
const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?|[{}[\],]|[^\s{}[\],:"']+/gs
/** Deeper brackets are read as if they were not there. */
const MAX_DEPTH = 1000
/** A member that names what the member VALUE of the same object is. */
const LABEL = /^(?:name|key|header|field|label)$/i
const VALUE = /^values?$/i

interface Frame {
  readonly isList: boolean
  /** Whether all that comes in it is a credential's. */
  hides: boolean
  /** Whether it is a list of which no element was read. */
  isEmpty: boolean
  /** The name of the member whose value comes; undefined: a name comes. */
  member: string | undefined
  /** Whether a member says that the value is a credential's. */
  isLabelled: boolean
  /** The value that came before its label. */
  value: { readonly at: number; readonly token: string } | undefined
}

class JsonMasker {
  readonly #within: number
  readonly #edits = new Map<number, { readonly end: number; readonly shown: string }>()
  readonly #stack: Frame[] = []
  /** The frame of texts that follow each other. */
  #top: Frame = { ...frameOf(true, false), isEmpty: false }
  #tooDeep = 0

  constructor(within: number) {
    this.#within = within
  }

  mask(text: string): string {
    for (const { 0: token, index } of text.matchAll(JSON_TOKEN)) this.#read(token, index)
    let shown = ""
    let from = 0
    for (const [at, edit] of [...this.#edits].toSorted(([a], [b]) => a - b)) {
      shown += text.slice(from, at) + edit.shown
      from = edit.end
    }
    return from === 0 ? text : shown + text.slice(from)
  }

  #read(token: string, at: number): void {
    if (token === "{" || token === "[") this.#open(token === "[")
    else if (token === "}" || token === "]") this.#close()
    else if (token === ",") this.#top.member = undefined
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
    if (this.#isHidden) return this.#hide(token, at)
    if (!isQuoted(token)) return
    const text = textOf(token)
    if (top.isList) {
      // a pair of a name and a value
      top.hides = top.isEmpty && NAME.test(text) && isSecretName(text)
      top.isEmpty = false
    } else if (LABEL.test(top.member!)) top.isLabelled ||= isSecretName(text)
    else if (VALUE.test(top.member!)) top.value = { at, token }
    const masked = maskText(text, this.#within + 1)
    if (masked !== text) this.#edits.set(at, { end: at + token.length, shown: quoted(masked) })
  }

  /** Numbers of up to three digits, counts of tokens, and words such as null are no credentials. */
  #hide(token: string, at: number): void {
    const isNumber = /^-?\d{4}/.test(token) && !/tokens$/i.test(this.#top.member ?? "")
    const raw = isQuoted(token) ? token.replace(/^["']|(?<=.)["']$/gs, "") : token
    if (raw === "" || !(isQuoted(token) || isNumber)) return
    this.#edits.set(at, { end: at + token.length, shown: quoted(hidden(raw)) })
  }
}

const NAME = /^[\w-]{1,100}$/

const frameOf = (isList: boolean, hides: boolean): Frame => ({
  isList,
  hides,
  isEmpty: isList,
  member: undefined,
  isLabelled: false,
  value: undefined,
})

const maskJson = (text: string, within: number): string => new JsonMasker(within).mask(text)

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
