import { maskForm } from "./mask-form.ts"
import { hidden, isQueryName, isSecretName } from "./secret-names.ts"

/*
 * Masks credentials in text that is no JSON: in lines and phrases that name them, in XML, in URLs, and what has the form of a
 * token or key. Each pass takes time in proportion to the length of the text.
 */

/** Masks a text of any kind. */
export const maskPlain = (text: string): string =>
  maskForms(maskPhrases(maskLines(maskXml(maskQueries(text)))))

/** Masks URLs, and what has the form of a credential. */
export const maskUrlsAndForms = (text: string): string => maskForms(maskQueries(text))

/** `name: value` and `name=value` as a line of their own, also in quotes, as an item of YAML, and exported by a shell. */
const maskLines = (text: string): string =>
  text.replace(
    /^([ \t]*(?:- +|export +)?["']?)([\w.-]+)(["']?[ \t]*[:=][ \t]*)(\S.*)$/gm,
    (all, indent: string, name: string, sign: string, value: string) =>
      isSecretName(name) ? indent + name + sign + hidden(value) : all,
  )

/** `name: value` and `name=value` within a line; a value in quotes, or of a pair in quotes, ends with them. */
function maskPhrases(text: string): string {
  let shown = ""
  let from = 0
  for (const found of text.matchAll(/(?<![\w.-])([\w.-]{1,100})["']?[ \t]*[:=][ \t]*(?=[^\s:=/])/g)) {
    const at = found.index
    if (at < from || !isSecretName(found[1]!)) continue
    const start = at + found[0].length
    const opened = text[start] === '"' || text[start] === "'"
    const ends = opened ? VALUES[text[start] as '"'] : (VALUES[text[at - 1] as '"'] ?? WORD)
    ends.lastIndex = opened ? start + 1 : start
    const value = ends.exec(text)?.[0] ?? ""
    if (value === "") continue
    shown += text.slice(from, ends.lastIndex - value.length) + hidden(value)
    from = ends.lastIndex
  }
  return from === 0 ? text : shown + text.slice(from)
}

/** Sticky: what a value has up to the quote that ends it. */
const VALUES: { readonly [quote in '"' | "'"]: RegExp } = { '"': /[^"\r\n]+/y, "'": /[^'\r\n]+/y }
const WORD = /\(\d+ characters\)|[^\s,;&"'<>]+/y

/** The contents of elements named for a credential, and the values of attributes next to such a name. */
function maskXml(text: string): string {
  if (!text.includes("<")) return text
  let shown = ""
  let from = 0
  for (const { 0: tag, 1: name = "", 2: localName = "", index } of text.matchAll(
    /<((?:[\w-]{1,100}:)?([\w.-]{1,100}))(?=[\s>])[^<>]*>/g,
  )) {
    const start = index + tag.length
    if (start <= from || tag.endsWith("/>") || !isSecretName(localName)) continue
    const closing = text.indexOf(`</${name}`, start)
    const end = closing === -1 ? text.length : closing
    if (text.slice(start, end).trim() === "") continue
    shown += text.slice(from, start) + hidden(text.slice(start, end))
    from = end
  }
  return (shown + text.slice(from)).replace(/<[\w:.-]+\s[^<>]*>/g, (tag) => {
    const [, label] = /\s(?:name|key|header|field|label)\s*=\s*["']([^"']*)["']/i.exec(tag) ?? []
    return label === undefined || !isSecretName(label)
      ? tag
      : tag.replace(
          /(\svalues?\s*=\s*(["']))([^"']+)(?=\2)/gi,
          (_, before: string, _quote, value: string) => before + hidden(value),
        )
  })
}

/** The queries of URLs, and fragments that have the form of one. */
const maskQueries = (text: string): string =>
  text.replace(/(?<=\?|#(?=[\w.-]{1,100}=))[^\s"'<>#?]+/g, (query) => maskForm(query, isQueryName))

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
  // the password of a URL, and a user that is long enough for a token
  [/(:\/\/[^\s/@:"]*:)([^\s/@"]+)(?=@)/g, (_, before, value) => before + hidden(value)],
  [
    /(:\/\/)([^\s/@:"'<>?#]{16,}(?=:)|[^\s/@:"'<>?#]{8,}(?=@))(?=[^\s/@"]*@)/g,
    (_, before, value) => before + hidden(value),
  ],
  [
    /(-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(.+?)(?=-----END|$)/gs,
    (_, before, value) => before + hidden(value),
  ],
]

/** Masks what has the form of a credential. */
export const maskForms = (text: string): string =>
  FORMS.reduce((masked, [form, of]) => masked.replace(form, of), text)
