/**
 * The paths that something stands for: exact ones and prefixes. A prefix ends in `/*`; `/a/*` is not for `/a`. Paths are
 * kept as senders write them: other than ASCII is escaped.
 */
export class PathTable<T> {
  readonly #exact = new Map<string, T>()
  /** With their last slash, without the star, the longest first. */
  readonly #prefixes: (readonly [prefix: string, value: T])[] = []

  /** @returns false when the path is there already */
  add(path: string, value: T): boolean {
    const escaped = new URL(`http://host${path}`).pathname
    if (!escaped.endsWith("/*")) {
      if (this.#exact.has(escaped)) return false
      this.#exact.set(escaped, value)
      return true
    }
    const prefix = escaped.slice(0, -1)
    if (this.#prefixes.some(([other]) => other === prefix)) return false
    this.#prefixes.push([prefix, value])
    this.#prefixes.sort(([a], [b]) => b.length - a.length)
    return true
  }

  /** The exact one, else the longest prefix. */
  find(path: string): T | undefined {
    return this.#exact.get(path) ?? this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1]
  }

  get exactPaths(): readonly string[] {
    return [...this.#exact.keys()]
  }

  get hasPrefixes(): boolean {
    return this.#prefixes.length > 0
  }
}
