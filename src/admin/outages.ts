/** Since when connections can't be published to, as far as it was looked at. */
export class Outages {
  readonly #since = new Map<string, number>()

  /** @param connections with their problems; undefined: usable @param nowMs in milliseconds since 1970 */
  see(connections: Iterable<readonly [id: string, problem: string | undefined]>, nowMs: number): void {
    const problems = new Map(connections)
    for (const id of this.#since.keys()) if (problems.get(id) === undefined) this.#since.delete(id)
    for (const [id, problem] of problems)
      if (problem !== undefined && !this.#since.has(id)) this.#since.set(id, nowMs)
  }

  /** In milliseconds since 1970; undefined: it could be published to when it was looked at last. */
  since(id: string): number | undefined {
    return this.#since.get(id)
  }
}
