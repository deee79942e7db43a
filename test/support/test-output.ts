/** A test that failed, or a file that could not be loaded. */
export interface Failure {
  readonly file: string
  /** In the file; undefined where the error has no frame there. */
  readonly line: number | undefined
  readonly title: string
  /** What was printed since the test before it: its own output, the source and the error. */
  excerpt: string
}

/** Lines of one failure that are kept, the last ones. */
const MOST_LINES = 60
const RESULT = /^\((pass|skip|todo|fail)\) (.*?)(?: \[[\d.]+m?s\])?$/

/** Reads the output of `bun test` line by line, as it is written into a pipe. */
export class TestOutput {
  readonly failures: Failure[] = []
  /** By file, as the skipped ones. */
  readonly passedIn = new Map<string, number>()
  readonly skipped = new Map<string, number>()
  #file = ""
  /** Since the last result. */
  #lines: string[] = []
  #last: string[] = []
  /** Dashes that are still to come around an error outside of tests. */
  #dashes = 0
  #isSummary = false
  #shown = ""

  take(line: string): void {
    this.#last = [...this.#last, line].slice(-MOST_LINES)
    // names them all again
    if (/^ *\d+ tests? (?:failed|skipped|todo):$/.test(line)) this.#isSummary = true
    if (this.#isSummary) return
    const [, file] = /^(\S+\.test\.tsx?):$/.exec(line) ?? []
    if (file !== undefined) {
      this.#file = file
      this.#lines = []
      return
    }
    const [, result, title] = RESULT.exec(line) ?? []
    if (result !== undefined) this.#end(result, title!)
    else if (/^ {2}\^ this test timed out/.test(line)) this.failures.at(-1)!.excerpt += `\n${line}`
    else this.#keep(line)
  }

  #end(result: string, title: string): void {
    if (result === "fail") this.#fail(title === "(unnamed)" ? "beforeAll, afterAll or describe" : title)
    else {
      const counts = result === "pass" ? this.passedIn : this.skipped
      counts.set(this.#file, (counts.get(this.#file) ?? 0) + 1)
    }
    this.#lines = []
  }

  get passed(): number {
    return this.passedIn.values().reduce((all, count) => all + count, 0)
  }

  #keep(line: string): void {
    this.#lines = [...this.#lines, line].slice(-MOST_LINES)
    if (line === "# Unhandled error between tests") this.#dashes = 2
    else if (this.#dashes > 0 && /^-{10,}$/.test(line) && --this.#dashes === 0) {
      this.#fail("the file can't be loaded, or failed outside of its tests")
      this.#lines = []
    }
  }

  #fail(title: string): void {
    const excerpt = this.#lines.join("\n").trim()
    const [, line] = new RegExp(`${this.#file.replaceAll(".", "\\.")}:(\\d+):\\d+`).exec(excerpt) ?? []
    this.failures.push({
      file: this.#file,
      line: line === undefined ? undefined : Number(line),
      title,
      excerpt,
    })
    this.clearProgress()
    process.stderr.write(`failed: ${this.#file}  ${title}\n`)
  }

  lastLines(): string {
    return this.#last.join("\n")
  }

  /** One line that is written over on a terminal, else a new one. */
  showProgress(): void {
    const text = `${this.passed} passed, ${this.failures.length} failed  ${this.#file}`
    if (text === this.#shown) return
    this.#shown = text
    process.stderr.write(
      process.stderr.isTTY ? `\r\x1b[K${text.slice(0, (process.stderr.columns || 80) - 1)}` : `${text}\n`,
    )
  }

  clearProgress(): void {
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K")
  }
}
