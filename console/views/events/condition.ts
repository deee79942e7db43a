/** What a filter's text is for the API: a condition of `hookline tail --where`, undefined for none, or what is wrong with it. */
export type Condition = { readonly where: string | undefined } | { readonly problem: string }

const FORM = /^(?:(json:)?(\/[^=]*?)|(header:[^=\s][^=]*?|key))\s*=\s*(.*)$/s

/** Takes `json:/type=invoice.*`, `header:Name=value`, `key=value`, and `/type = invoice.*` for the first. */
export function parseCondition(text: string): Condition {
  const trimmed = text.trim()
  if (trimmed === "") return { where: undefined }
  const [found, , pointer, other, pattern] = FORM.exec(trimmed) ?? []
  if (found === undefined)
    return { problem: "Write /type = invoice.*, header:Name = value or key = value; * is any text." }
  return { where: `${pointer === undefined ? other : `json:${pointer}`}=${pattern}` }
}
