/** The candidate closest to a misspelled word; undefined when none is close. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    const tolerated = Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3))
    if (distance <= tolerated && distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/**
 * The end of a message about an unknown name: the closest candidate, else all of them.
 *
 * @param quotation quotes a name
 */
export function suggest(
  word: string,
  candidates: readonly string[],
  quotation: (name: string) => string,
): string {
  const meant = nearest(word, candidates)
  if (meant !== undefined) return `; did you mean ${quotation(meant)}?`
  return candidates.length === 0 ? "" : `; expected ${enumerate(candidates.map(quotation), "or")}`
}

/** `a`, `a and b`, `a, b and c`. */
export function enumerate(words: readonly string[], conjunction = "and"): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)}`
}

/** The same of the first few: `a, b and 9,990 more`. */
export function enumerateSome(words: readonly string[], most = 10): string {
  const more = words.length - most
  if (more <= 1) return enumerate(words)
  return enumerate([...words.slice(0, most), `${more.toLocaleString("en")} more`])
}

/** `1 record`, `2 records`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const above = rows[i - 1]!
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? rows[i - 2]![j - 2]! + 1 : replaced
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, replaced, swapped))
    }
    rows.push(row)
  }
  return rows.at(-1)!.at(-1)!
}
