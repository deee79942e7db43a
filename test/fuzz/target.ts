/** A parser that strangers reach, and what has to hold of it for any bytes. */
export interface Target {
  readonly name: string
  /** What it is meant for, from which other inputs are made. */
  readonly seeds: readonly (string | Uint8Array)[]
  /** Words of its language that mutations put in. */
  readonly words: readonly string[]
  /** Parses bytes and compares with what another implementation, or its own result read again, says. Throws what differs. */
  readonly check: (bytes: Uint8Array<ArrayBuffer>) => void | Promise<void>
}
