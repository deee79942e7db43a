/** Finds what stands for a path: the exact one, else the longest prefix. A prefix ends in `/*`; `/a/*` is not for `/a`. */
export class PathTable<T> {
  readonly #exact = new Map<string, T>()
  /** With their last slash, without the star, the longest first. */
  readonly #prefixes: (readonly [prefix: string, value: T])[] = []

  /** @returns false when the path is there already */
  add(path: string, value: T): boolean {
    // in the form that the paths of requests come in
    const normal = new URL(path, "http://host").pathname
    if (!normal.endsWith("/*")) {
      if (this.#exact.has(normal)) return false
      this.#exact.set(normal, value)
      return true
    }
    const prefix = normal.slice(0, -1)
    if (this.#prefixes.some(([other]) => other === prefix)) return false
    this.#prefixes.push([prefix, value])
    this.#prefixes.sort(([a], [b]) => b.length - a.length)
    return true
  }

  find(path: string): T | undefined {
    return this.#exact.get(path) ?? this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1]
  }
}
