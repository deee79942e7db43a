import { HooklineError } from "../errors.ts"

/** Where something of the configuration stands. */
export interface Place {
  /** 1-based line of the file; `code`: given in code; undefined: nowhere in particular. */
  readonly line: number | "code" | undefined
  /** As the file spells it, without the brackets. */
  readonly section?: string | undefined
  readonly key?: string | undefined
}

/** What is wrong in one place, and what would be right. Never holds a secret or a substituted value. */
export interface Problem extends Place {
  readonly text: string
}

/** Collects what is wrong with a configuration, so that all of it is told at once. */
export class Problems {
  /** The file as the user named it; undefined: there is none. */
  readonly file: string | undefined
  readonly #problems: Problem[]
  readonly #warnings: Problem[] = []

  constructor(file: string | undefined, known: readonly Problem[] = []) {
    this.file = file
    this.#problems = [...known]
  }

  add(place: Place, text: string): void {
    this.#problems.push({ ...place, text })
  }

  /** Adds something that is not wrong for sure, and keeps nothing from running. */
  warn(place: Place, text: string): void {
    this.#warnings.push({ ...place, text })
  }

  get all(): readonly Problem[] {
    return this.#problems
  }

  /** `pipelines.conf:12`, or `in code`. */
  locate({ line }: Place): string {
    if (line === "code" || this.file === undefined) return "in code"
    return line === undefined ? this.file : `${this.file}:${line}`
  }

  /** Each problem as `file:line: [section] key: what is wrong, what would be right`, in the order of the lines. */
  get lines(): readonly string[] {
    return this.#spell(this.#problems)
  }

  /** Each warning, as `lines` has the problems. */
  get warnings(): readonly string[] {
    return this.#spell(this.#warnings)
  }

  #spell(problems: readonly Problem[]): readonly string[] {
    const rank = ({ line }: Place): number => (line === "code" ? Number.MAX_SAFE_INTEGER : (line ?? 0))
    return problems
      .toSorted((a, b) => rank(a) - rank(b))
      .map((problem) => {
        const { section, key, text } = problem
        const subject = [section === undefined ? [] : `[${section}]`, key ?? []].flat().join(" ")
        return [this.locate(problem), subject, text].filter((part) => part !== "").join(": ")
      })
  }

  /** @throws HooklineError `config`, with one line a problem, when there is any */
  throwIfAny(): void {
    if (this.#problems.length > 0) throw new HooklineError("config", this.lines.join("\n"))
  }
}
