/** A line of Hookline's log. */
export interface LogLine {
  level: string
  msg: string
  [key: string]: unknown
}

/** A Hookline that runs, as a process of its own or in this one. Disposing of it stops it where it still runs. */
export interface Started extends AsyncDisposable {
  /** Where each pipeline listens, by its id; filled when it does. */
  readonly urls: { readonly [pipeline: string]: string }
  /** Where the admin server listens. */
  readonly adminUrl: string | undefined
  readonly log: readonly LogLine[]
  /** Resolves with the first line, past or to come, that passes the test; rejects when Hookline ends before it. */
  logged(test: (line: LogLine) => boolean): Promise<LogLine>
  /** Everything that was written to standard output and standard error; of one in this process, its log. */
  output(): string
  /** Has it read its configuration file again, and does not wait. */
  readAgain(): void
  /** Stops it, after what it has accepted. */
  stop(): Promise<unknown>
}

/** Resolves with the next such line: of those that it has logged already some may be like it. */
export function nextLine(
  { log, logged }: Pick<Started, "log" | "logged">,
  test: (line: LogLine) => boolean,
): Promise<LogLine> {
  const seen = log.length
  return logged((line) => test(line) && log.indexOf(line) >= seen)
}

/** What a Hookline has logged, and where it listens by that. */
export class HooklineLog implements Pick<Started, "urls" | "adminUrl" | "log" | "logged"> {
  readonly urls: { [pipeline: string]: string } = {}
  adminUrl: string | undefined
  readonly log: LogLine[] = []
  #text = ""
  #hasEnded = false
  #changed = Promise.withResolvers<void>()

  /** Takes a line of the log. */
  take(line: string, entry = JSON.parse(line) as LogLine): void {
    const { url, pipeline } = entry
    this.#text += `${line}\n`
    this.log.push(entry)
    if (typeof url === "string") {
      if (typeof pipeline === "string") this.urls[pipeline] = url
      else this.adminUrl = url
    }
    this.#wake()
  }

  /** Takes what is no line of the log. */
  takeText(text: string): void {
    this.#text += text
  }

  /** No line follows. */
  end(): void {
    this.#hasEnded = true
    this.#wake()
  }

  readonly output = (): string => this.#text

  readonly logged: Started["logged"] = async (test) => {
    for (let seen = 0; ;) {
      for (; seen < this.log.length; seen++) if (test(this.log[seen]!)) return this.log[seen]!
      if (this.#hasEnded) throw new Error(`hookline ended before the awaited line:\n${this.#text}`)
      await this.#changed.promise
    }
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}
