import { resolve } from "node:path"
import type { StartError } from "../../errors.ts"
import { whyUnreadable } from "../../process/paths.ts"
import { readRegularFile } from "../../process/regular-file.ts"

/** The source of substituted values. */
export interface Environment {
  readonly env: { readonly [name: string]: string | undefined }
  /** The configuration file's folder, absolute: the base of relative paths. */
  readonly baseDir: string
  /** Called with the absolute path of each file read, readable or not. */
  readonly reads?: ((file: string) => void) | undefined
  /** Gets the names of the variables that values refer to. */
  readonly variables?: Set<string> | undefined
  /** Gets the values of variables and files. */
  readonly values?: string[] | undefined
  /** Whether a running process reads them again: its variables are those of its start. */
  readonly isReload?: boolean | undefined
  /** Kinds of sections that extensions have: `[<kind>:<id>]`. */
  readonly kinds?: readonly string[] | undefined
}

export interface Interpolated {
  readonly text: string
  /** Whether the text has substituted values, which are never printed: one may be a secret under the wrong key. */
  readonly substituted: boolean
  /** Where the text has commas that files gave: a file is one secret a line. */
  readonly fileCommas: readonly number[]
}

const FORMS = "${NAME}, ${NAME:-default} or ${file:/path}"

/**
 * Replaces `${NAME}` and `${NAME:-default}` (used when NAME is unset or empty, as in a shell) by the environment's
 * variable and `${file:path}` by a file's text without its last line end. `$${` is a literal `${`. Substituted values
 * are not interpolated again.
 *
 * @param report receives each problem
 * @returns undefined if there was any
 */
export function interpolate(
  text: string,
  environment: Environment,
  report: Report,
): Interpolated | undefined {
  let substituted = false
  let failed = false
  const fileCommas: number[] = []
  /** How much longer the result is than what it stands for, so far. */
  let grown = 0
  const fail: Fail = (...problem) => {
    report(...problem)
    failed = true
    return ""
  }
  const replaced = (reference: string | undefined, end: string | undefined): string => {
    if (reference === undefined) return "${"
    if (end === "") return fail("unterminated ${; write $${ for a literal ${")
    substituted = true
    const value = substitute(reference, environment, fail)
    if (value !== "" && !reference.endsWith(`:-${value}`)) environment.values?.push(value)
    return value
  }
  const result = text.replace(REFERENCE, (found: string, reference?: string, end?: string, at = 0) => {
    const given = replaced(reference, end)
    if (reference?.startsWith("file:") === true)
      for (const { index } of given.matchAll(/,/g)) fileCommas.push(at + grown + index)
    grown += given.length - found.length
    return given
  })
  return failed ? undefined : { text: result, substituted, fileCommas }
}

const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g

/**
 * @param error absent: the reference itself is wrong
 * @param ofSecret the problem where the value is a secret, if that makes a difference
 */
export type Report = (text: string, error?: StartError, ofSecret?: string) => void

/** Reports a problem. @returns nothing to substitute */
type Fail = (...problem: Parameters<Report>) => ""

function substitute(reference: string, environment: Environment, fail: Fail): string {
  const { env, variables, isReload } = environment
  if (reference.startsWith("file:")) return fileText(reference.slice("file:".length), environment, fail)
  const [, name, otherwise] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/.exec(reference) ?? []
  if (name === undefined) return fail(wrongReference(reference))
  if (otherwise?.includes("${")) return fail(`the default of \${${name}} can't contain another \${`)
  variables?.add(name)
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  if (otherwise !== undefined) return value === undefined || value === "" ? otherwise : value
  if (value !== undefined) return value
  const unset = `environment variable ${name} is not set`
  const byDefault = `give a default: \${${name}:-default}`
  const byFile = "use ${file:/path}"
  // nothing stands in for a secret
  return isReload === true
    ? fail(
        `${unset}; ${KEPT}: set it and restart, ${byFile}, or ${byDefault}`,
        "unset_variable",
        `${unset}; ${KEPT}: set it and restart, or ${byFile}`,
      )
    : fail(`${unset}; set it, or ${byDefault}`, "unset_variable", `${unset}; set it, or ${byFile}`)
}

const KEPT = "a reload keeps the environment that the process was started with"

/** A reference that names no variable: to a value of the event, or to a variable by another syntax. */
function wrongReference(reference: string): string {
  const [, variable] = /^env[:.]([A-Za-z_]\w*)$/i.exec(reference) ?? []
  if (variable !== undefined) return `invalid reference; write \${${variable}}`
  return `invalid reference; expected ${FORMS}; write $\${ for a literal \${`
}

/** What a reference names of the event, which only some options read: `header:Name`; undefined: it names none. */
export const eventValueIn = (text: string): string | undefined =>
  /\$\{((?:header|json|query|event):[^}]*|path(?::\d+)?|key)\}/.exec(text)?.[1]

/** Absolute paths of the files that a text refers to. */
export const filesIn = (text: string, { baseDir }: Pick<Environment, "baseDir">): readonly string[] =>
  text.includes("${file:")
    ? [...text.matchAll(/(?<!\$)\$\{file:([^}]+)\}/g)].map(([, path]) => resolve(baseDir, path!))
    : []

function fileText(path: string, { baseDir, reads }: Environment, fail: Fail): string {
  if (path === "") return fail("${file:} has no path; write ${file:/run/secrets/name}")
  if (path.startsWith("~"))
    return fail(`\${file:${path}} begins with ~, which only a shell replaces; write the whole path`)
  const file = resolve(baseDir, path)
  reads?.(file)
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readRegularFile(file)).replace(/\r?\n$/, "")
  } catch (error) {
    return fail(`the file ${path} ${whyUnreadable(error)}`, "file_unreadable")
  }
}
