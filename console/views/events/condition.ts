/** What a filter's text is for the API: conditions of `hookline tail --where`, undefined for none, or what is wrong with it. */
export type Condition = { readonly where: string | undefined } | { readonly problem: string }

const FORM = /^(?:(json:)?(\/[^=]*?)|(header:[^=\s][^=]*?|key|text))\s*=\s*(.*)$/s
/** Begins like a condition, and is none. */
const UNFINISHED = /^(?:(?:json:|header:|\/)|(?:key|text)$|=)/

/** Takes `json:/type=invoice.*`, `header:Name=value`, `key=value`, `/type = invoice.*` for the first, other text for `text=…`, and several with `&&` between them. */
export function parseCondition(text: string): Condition {
  if (text.trim() === "") return { where: undefined }
  const parts = text.split(/(?:^|\s+)&&(?:\s+|$)/).map((part) => part.trim())
  const all = parts.map((part) => {
    const [found, , pointer, other, pattern] = FORM.exec(part) ?? []
    if (found !== undefined) return `${pointer === undefined ? other : `json:${pointer}`}=${pattern}`
    return part === "" || UNFINISHED.test(part) ? undefined : `text=${part}`
  })
  if (all.includes(undefined))
    return {
      problem:
        "Write some text, /type = invoice.*, header:Name = value or key = value; * is any text, && adds another one.",
    }
  return { where: all.join(" && ") }
}

/** A filter that a value passes, too. `what`: `/type`, `header:Name` or `key`. undefined: it can't be filtered by. */
export function narrowed(filter: string, what: string, value: string): string | undefined {
  if (what.includes("=") || what.length > 200) return undefined
  // what the filter's form can't hold may be any text
  const pattern = value.slice(0, 200).replaceAll(/^\s+|\s+$|[\r\n]+|\s+&&\s+/g, "*")
  const condition = `${what} = ${pattern}${value.length > 200 ? "*" : ""}`
  return filter.trim() === "" ? condition : `${filter.trim()} && ${condition}`
}
