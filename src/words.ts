/* Words in messages: the nearest name to a misspelled one, lists, counts. */

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
 * The end of a message about an unknown name: the closest candidate, else all of a few, else the nearest of many.
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
  if (candidates.length === 0) return ""
  if (candidates.length <= FEW) return `; expected ${enumerate(candidates.map(quotation), "or")}`
  const some = nearestFew(word, candidates).map(quotation)
  return `; the nearest of ${candidates.length} are ${enumerate(some)}`
}

const FEW = 9
const NEAREST = 3
const LEAST_PART = 3

/** Some candidates: those that share a word with the given one, or contain it, first; then by edit distance. */
function nearestFew(word: string, candidates: readonly string[]): readonly string[] {
  const wordsOf = (name: string): ReadonlySet<string> => new Set(name.toLowerCase().split(/[^a-z0-9]+/))
  const words = wordsOf(word)
  const ranked = candidates.map((name) => {
    const isPart = word.length >= LEAST_PART && name.toLowerCase().includes(word.toLowerCase())
    const shared = wordsOf(name).intersection(words).size + (isPart ? 1 : 0)
    return { name, shared, distance: editDistance(word.toLowerCase(), name.toLowerCase()) }
  })
  return ranked
    .toSorted((a, b) => b.shared - a.shared || a.distance - b.distance)
    .slice(0, NEAREST)
    .map(({ name }) => name)
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
