import { HooklineError } from "../../errors.ts"
import { camelCase, messageInCode, sectionInCode } from "../options/in-code.ts"

/** A place in the configuration. */
export interface Location {
  /** 1-based line of the file; `code`: given in code; undefined: no particular line. */
  readonly line: number | "code" | undefined
  /** As the file spells it, without the brackets. */
  readonly section?: string | undefined
  readonly key?: string | undefined
}

/** One problem and its remedy. Never holds a secret or a substituted value. */
export interface Problem extends Location {
  readonly text: string
}

/** Collects the problems of a configuration, to report all of them at once. */
export class Problems {
  /** The file as the user named it; undefined: no file. */
  readonly file: string | undefined
  readonly #problems: Problem[]
  readonly #warnings: Problem[] = []

  constructor(file: string | undefined, known: readonly Problem[] = []) {
    this.file = file
    this.#problems = [...known]
  }

  add(location: Location, text: string): void {
    this.#problems.push({ ...location, text })
  }

  /** Adds a warning, which keeps nothing from running. */
  warn(location: Location, text: string): void {
    this.#warnings.push({ ...location, text })
  }

  get all(): readonly Problem[] {
    return this.#problems
  }

  /** `pipelines.conf:12`, or `in code`. */
  locate({ line }: Location): string {
    if (line === "code" || this.file === undefined) return "in code"
    return line === undefined ? this.file : `${this.file}:${line}`
  }

  /**
   * Each problem as `file:line: [section] key: problem; remedy`, by line; those of code as `in code: pipeline "a", brokerSink,
   * option topic: …`.
   */
  get lines(): readonly string[] {
    return this.#spell(this.#problems)
  }

  /** The warnings, in the form of `lines`. */
  get warnings(): readonly string[] {
    return this.#spell(this.#warnings)
  }

  #spell(problems: readonly Problem[]): readonly string[] {
    const rank = ({ line }: Location): number => (line === "code" ? Number.MAX_SAFE_INTEGER : (line ?? 0))
    return problems
      .toSorted((a, b) => rank(a) - rank(b))
      .map((problem) => {
        const [subject, text] = problem.line === "code" ? spellInCode(problem) : spellInFile(problem)
        return [this.locate(problem), subject, text].filter((part) => part !== "").join(": ")
      })
  }

  /** @throws HooklineError `config`, with one line per problem, if any */
  throwIfAny(): void {
    if (this.#problems.length > 0) throw new HooklineError("config", this.lines.join("\n"))
  }
}

type Spelling = readonly [subject: string, text: string]

function spellInFile({ section, key, text }: Problem): Spelling {
  return [[section === undefined ? [] : `[${section}]`, key ?? []].flat().join(" "), text]
}

function spellInCode({ section, key, text }: Problem): Spelling {
  const named = section === undefined ? [] : sectionInCode(section)
  const option = key === undefined ? [] : `option ${camelCase(key)}`
  return [[named, option].flat().join(", "), messageInCode(text)]
}
