/** What stands for the prefixes that begin with the same segments of a path. */
interface Node<T> {
  /** Of the prefix that ends here. */
  value: T | undefined
  /** By the next segment. */
  readonly below: Map<string, Node<T>>
}

const node = <T>(): Node<T> => ({ value: undefined, below: new Map() })

const SLASH = 47

/**
 * The paths that something stands for: exact ones and prefixes. A prefix ends in `/*`; `/a/*` is not for `/a`. Paths are
 * kept as senders write them: other than ASCII is escaped. How many there are costs a look-up nothing.
 */
export class PathTable<T> {
  readonly #exact = new Map<string, T>()
  readonly #prefixes = node<T>()

  /** @returns false when the path is there already */
  add(path: string, value: T): boolean {
    const normal = new URL(`http://host${path}`).pathname
    if (!normal.endsWith("/*")) {
      if (this.#exact.has(normal)) return false
      this.#exact.set(normal, value)
      return true
    }
    let at = this.#prefixes
    for (const segment of normal.split("/").slice(1, -1)) {
      const next = at.below.get(segment) ?? node<T>()
      at.below.set(segment, next)
      at = next
    }
    if (at.value !== undefined) return false
    at.value = value
    return true
  }

  /** The exact one, else the longest prefix. */
  find(path: string): T | undefined {
    return this.#exact.get(path) ?? this.#findPrefix(path)
  }

  /** Looks no further into a path than prefixes go, however many segments a sender gives it. */
  #findPrefix(path: string): T | undefined {
    if (path.charCodeAt(0) !== SLASH) return undefined
    let at: Node<T> | undefined = this.#prefixes
    let found = at.value
    for (let start = 1; at.below.size > 0;) {
      const end = path.indexOf("/", start)
      if (end === -1) return found
      at = at.below.get(path.slice(start, end))
      if (at === undefined) return found
      found = at.value ?? found
      start = end + 1
    }
    return found
  }

  get exactPaths(): readonly string[] {
    return [...this.#exact.keys()]
  }

  get hasPrefixes(): boolean {
    return this.#prefixes.below.size > 0 || this.#prefixes.value !== undefined
  }
}
