/** The candidate that was probably meant by a misspelled word; undefined when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    const bearable = Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3))
    if (distance <= bearable && distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/**
 * Ends a message of an unknown name: with the one that was probably meant, else with all there are.
 *
 * @param quotation puts a name in the quotes of its kind
 */
export function suggest(
  word: string,
  candidates: readonly string[],
  quotation: (name: string) => string,
): string {
  const meant = nearest(word, candidates)
  if (meant !== undefined) return `; did you mean ${quotation(meant)}?`
  return candidates.length === 0 ? "" : `; there is ${enumerate(candidates.map(quotation))}`
}

/** `a`, `a and b`, `a, b and c`. */
export function enumerate(words: readonly string[], conjunction = "and"): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)}`
}

/** How many insertions, deletions, replacements and swaps of neighbours make one word of the other (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      current[j] = Math.min(
        previous[j]! + 1,
        current[j - 1]! + 1,
        replaced,
        swapped ? beforePrevious[j - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforePrevious = previous
    previous = current
  }
  return previous[b.length]!
}
