/** A Markdown table whose first column is text and whose others are figures. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column === 0 ? "---" : "---:"))
  return [head, rule, ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")
}
