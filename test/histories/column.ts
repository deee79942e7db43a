/** Whole numbers of 32 bits by index, four bytes each; those never set have the default. */
export class Column {
  readonly #unset: number
  #values = new Int32Array(1024)
  /** One more than the highest index that was set. */
  length = 0

  constructor(unset: number) {
    this.#unset = unset
    this.#values.fill(unset)
  }

  get(index: number): number {
    return this.#values[index] ?? this.#unset
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) {
      const larger = new Int32Array(Math.max(index + 1, 2 * this.#values.length)).fill(this.#unset)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[index] = value
    this.length = Math.max(this.length, index + 1)
  }

  add(index: number, by: number): void {
    this.set(index, this.get(index) + by)
  }
}
