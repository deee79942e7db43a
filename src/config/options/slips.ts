/*
 * Slips of the pen in values: what is meant is known, and said. Newcomers bring them from shells, YAML and URLs.
 */

/** What is wrong with a value, and what to do. */
export interface Slip {
  /** Quotes nothing of the value. */
  readonly what: string
  readonly remedy: string
  /** The remedy of a value that must not be printed; undefined: the same. */
  readonly hiddenRemedy?: string
}

/** A comment behind a value: `#` or `;` after white space. */
const COMMENT = /\s+[#;](?:\s.*)?$/gm
const QUOTED = /^(["'])(.*)\1$/s

/** What a text becomes without a comment, or without quotes, with the slip. */
function* around(text: string): Iterable<readonly [other: string, slip: Slip]> {
  const bare = text.replaceAll(COMMENT, "")
  if (bare !== text) yield [bare, { what: "ends in a comment", remedy: "comments need a line of their own" }]
  const unquoted = text.replace(QUOTED, "$2")
  if (unquoted !== text)
    yield [unquoted, { what: "is in quotes", remedy: `write ${unquoted}`, hiddenRemedy: "remove them" }]
}

/** Other spellings of the form that a refused text may stand for. */
function* spellings(text: string, form: string): Iterable<string> {
  const url = /^[a-z][a-z+]*:\/\//i.test(text) ? URL.parse(text) : null
  if (form.includes("host:port")) {
    if (url !== null) yield url.host
    if (/^\d{1,5}$/.test(text)) yield `127.0.0.1:${text}`
    // Kafka's usual port, where it is a broker's
    if (form.endsWith("host:port") && /^[\w.-]+$/.test(text)) yield `${text}:9092`
  }
  if (form.includes("begins with /")) yield url === null ? `/${text}` : url.pathname
  if (form.includes("json:/") && /^\$?\.?\w+(?:\.\w+)*$/.test(text))
    yield `json:/${text.replace(/^\$?\.?/, "").replaceAll(".", "/")}`
  if (form.includes("a size such as")) yield `${text}iB`
}

/**
 * What a text that an option refuses was meant to be; undefined: nothing that it would accept is known.
 *
 * @param form of the option's values
 */
export function slipIn(text: string, form: string, accepts: (text: string) => boolean): Slip | undefined {
  for (const [other, slip] of around(text)) if (accepts(other)) return slip
  const variable = withoutBraces(text)
  if (variable !== undefined) return variable
  for (const other of spellings(text, form))
    if (accepts(other)) return { what: `is not ${shortly(form)}`, remedy: `write ${other}` }
  return undefined
}

/** A form without the details that follow its first words; of a list that of an item. */
const shortly = (form: string): string =>
  form.replace(/^a list .*, each item /, "").split(/[:,;]? (?:that|such as|with|as) |: /, 1)[0]!

/** Whether a text that an option accepts looks as if its end were a comment. */
export const endsInComment = (text: string): boolean => /\S\s+#(?:\s|$)/.test(text) && !/^[[{]/.test(text)

/** What is wrong with a path that no shell has read. */
export function slipOfPath(text: string): Slip | undefined {
  if (text.startsWith("~")) {
    const remedy = /^~(?:\/|$)/.test(text) ? `write \${HOME}${text.slice(1)}` : "write the whole path"
    const hiddenRemedy = "write ${HOME} or the whole path"
    return { what: "begins with ~, which only a shell replaces", remedy, hiddenRemedy }
  }
  const variable = withoutBraces(text)
  if (variable !== undefined) return variable
  for (const [, slip] of around(text)) return slip
  return undefined
}

function withoutBraces(text: string): Slip | undefined {
  const [, name, rest = ""] = /^\$([A-Za-z_]\w*)(?![\w.])(.*)$/s.exec(text) ?? []
  return name === undefined
    ? undefined
    : {
        what: "has a variable without braces",
        remedy: `write \${${name}}${rest}`,
        hiddenRemedy: "write ${NAME}",
      }
}
