import { HooklineError, type FaultCode, type StartError } from "../../errors.ts"
import { enumerateSome } from "../../words.ts"
import { camelCase, messageInCode, messageInFile, type Message } from "../../message.ts"
import { sectionInCode } from "../options/in-code.ts"

/** A place in the configuration. */
export interface Place {
  /** The file as messages name it; undefined: the configuration file itself. */
  readonly file?: string | undefined
  /** 1-based line of the file; `code`: given in code; undefined: no particular line. */
  readonly line: number | "code" | undefined
  /** The name as the file spells it, without the brackets. */
  readonly section?: string | undefined
  readonly key?: string | undefined
}

/** One problem and its remedy, in the notation of its place. Never holds a secret or a substituted value. */
export interface Problem extends Place {
  readonly text: string
  /** Its name; undefined: it is a warning. */
  readonly error?: StartError | undefined
}

/** What reading the file has found. */
interface Known {
  readonly problems?: readonly Problem[] | undefined
  readonly warnings?: readonly Problem[] | undefined
}

/** Collects the problems of a configuration, to report all of them at once. */
export class Problems {
  /** The file as the user named it; undefined: no file. */
  readonly file: string | undefined
  readonly #problems = new Map<string, Problem>()
  readonly #warnings = new Map<string, Problem>()

  constructor(file: string | undefined, known: Known = {}) {
    this.file = file
    for (const problem of known.problems ?? []) this.add(problem, problem.text, problem.error)
    for (const warning of known.warnings ?? []) this.warn(warning, warning.text)
  }

  /** Adds a problem, once: a default's is found in each section that it serves. */
  add(
    location: Place,
    text: Message,
    error: StartError = location.key === undefined ? "invalid_configuration" : "invalid_value",
  ): void {
    this.#add(this.#problems, { ...location, text: textAt(location, text), error })
  }

  /** Adds a warning, which keeps nothing from running. */
  warn(location: Place, text: Message): void {
    this.#add(this.#warnings, { ...location, text: textAt(location, text) })
  }

  /** All problems, sorted by file and line. */
  get all(): readonly Problem[] {
    return this.#sorted(this.#problems)
  }

  get allWarnings(): readonly Problem[] {
    return this.#sorted(this.#warnings)
  }

  get hasAny(): boolean {
    return this.#problems.size > 0
  }

  /** `pipelines.conf:12`, or `in code`. */
  locate({ file = this.file, line }: Place): string {
    if (line === "code" || file === undefined) return "in code"
    return line === undefined ? file : `${file}:${line}`
  }

  /**
   * Each problem as `file:line: [section] key: problem; remedy`, by line; those of code as `in code: pipeline "a", brokerSink,
   * option topic: …`.
   */
  get lines(): readonly string[] {
    return this.#spell(this.all)
  }

  /** The warnings, in the form of `lines`; those of several pipelines that say the same are one, which names some of them. */
  get warnings(): readonly string[] {
    const alike = Map.groupBy(this.allWarnings, ({ file, section = "", key, text }) =>
      JSON.stringify([file, section.replace(KIND_AND_ID, "$1"), key, text]),
    )
    return this.#spell(
      Array.from(alike.values(), ([first, ...others]) => {
        const [, ...ids] = new Set([first!, ...others].map(idOf))
        if (ids.length === 0) return first!
        const kind = KIND_AND_ID.exec(first!.section!)![1]
        return {
          ...first!,
          text: `${first!.text}; also ${kind}${ids.length > 1 ? "s" : ""} ${enumerateSome(ids)}`,
        }
      }),
    )
  }

  #add(to: Map<string, Problem>, { file = this.file, line, section, key, text, error }: Problem): void {
    to.set([file, line, section, key, text].join("\0"), { file, line, section, key, text, error })
  }

  #sorted(found: ReadonlyMap<string, Problem>): readonly Problem[] {
    const rank = ({ line }: Place): number => (line === "code" ? Number.MAX_SAFE_INTEGER : (line ?? 0))
    /** The configuration file comes first. */
    const name = ({ file, line }: Place): string =>
      line === "code" ? "\uffff" : file === this.file ? "" : (file ?? "")
    return [...found.values()].toSorted((a, b) => compare(name(a), name(b)) || rank(a) - rank(b))
  }

  #spell(problems: readonly Problem[]): readonly string[] {
    return problems.map((problem) => {
      const subject = problem.line === "code" ? subjectInCode(problem) : subjectInFile(problem)
      return [this.locate(problem), subject, problem.text].filter((part) => part !== "").join(": ")
    })
  }

  /** An error with one line per problem. */
  toError(code: FaultCode = "config"): HooklineError {
    return new HooklineError(code, this.lines.join("\n"), { names: this.all.map(({ error }) => error!) })
  }

  /** @throws HooklineError `config`, with one line per problem, if any */
  throwIfAny(): void {
    if (this.#problems.size > 0) throw this.toError()
  }
}

const KIND_AND_ID = /^(\w+):([^:]+)/
const idOf = ({ section = "" }: Problem): string => KIND_AND_ID.exec(section)?.[2] ?? ""

const textAt = ({ line }: Place, text: Message): string =>
  line === "code" ? messageInCode(text) : messageInFile(text)

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

const subjectInFile = ({ section, key }: Place): string =>
  [section === undefined ? [] : `[${section}]`, key ?? []].flat().join(" ")

function subjectInCode({ section, key }: Place): string {
  const parts = section === undefined ? [] : sectionInCode(section)
  return [parts, key === undefined ? [] : `option ${camelCase(key)}`].flat().join(", ")
}
