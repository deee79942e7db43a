import { readFileSync } from "node:fs"
import { resolve } from "node:path"

/** Where substituted values come from. */
export interface Surroundings {
  readonly env: { readonly [name: string]: string | undefined }
  /** Absolute path of the folder that relative paths start from: the configuration file's. */
  readonly baseDir: string
  /** Told of each file that a value is taken from, as an absolute path, whether it can be read or not. */
  readonly reads?: ((file: string) => void) | undefined
}

export interface Interpolated {
  readonly text: string
  /** Whether something was put in. What was is never printed: it may be a secret that went to the wrong key. */
  readonly substituted: boolean
}

const FORMS = "${NAME}, ${NAME:-default} or ${file:/path}"

/**
 * Replaces `${NAME}` and `${NAME:-default}` (used when NAME is unset or empty, as in a shell) by the environment's
 * variable and `${file:path}` by a file's text without its last line end. `$${` is a literal `${`. What was put in is
 * not interpolated again.
 *
 * @param wrong is called with each thing that is wrong
 * @returns undefined when anything was wrong
 */
export function interpolate(
  text: string,
  surroundings: Surroundings,
  wrong: (text: string) => void,
): Interpolated | undefined {
  let result = ""
  let rest = text
  let substituted = false
  let failed = false
  for (;;) {
    const start = rest.indexOf("${")
    if (start === -1) break
    if (rest[start - 1] === "$") {
      result += `${rest.slice(0, start - 1)}\${`
      rest = rest.slice(start + 2)
      continue
    }
    const end = rest.indexOf("}", start)
    if (end === -1) {
      wrong("a ${ misses its }; write $${ for a literal ${")
      return undefined
    }
    const value = substitute(rest.slice(start + 2, end), surroundings)
    if (typeof value === "string") result += rest.slice(0, start) + value
    else {
      wrong(value.wrong)
      failed = true
    }
    substituted = true
    rest = rest.slice(end + 1)
  }
  return failed ? undefined : { text: result + rest, substituted }
}

function substitute(reference: string, { env, baseDir, reads }: Surroundings): string | { wrong: string } {
  if (reference.startsWith("file:")) return fileText(reference.slice("file:".length), { baseDir, reads })
  const [, name, otherwise] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/.exec(reference) ?? []
  if (name === undefined)
    return { wrong: `a \${ does not hold one of ${FORMS}; write $\${ for a literal \${` }
  if (otherwise?.includes("${")) return { wrong: `the default of \${${name}} can't hold another \${` }
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  if (otherwise !== undefined) return value === undefined || value === "" ? otherwise : value
  return value ?? { wrong: `the environment has no ${name}; set it, or give a default: \${${name}:-default}` }
}

function fileText(
  path: string,
  { baseDir, reads }: Pick<Surroundings, "baseDir" | "reads">,
): string | { wrong: string } {
  if (path === "") return { wrong: "${file:} misses a path; write ${file:/run/secrets/name}" }
  const file = resolve(baseDir, path)
  reads?.(file)
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file)).replace(/\r?\n$/, "")
  } catch (error) {
    return { wrong: `the file ${path} ${whyUnreadable(error)}` }
  }
}

/** Says, behind the name of a file, why it can't be read. */
export function whyUnreadable(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case "ENOENT":
      return "does not exist"
    case "EACCES":
    case "EPERM":
      return "may not be read by this user"
    case "EISDIR":
      return "is a folder"
    case "ERR_ENCODING_INVALID_ENCODED_DATA":
      return "is not UTF-8"
    default:
      return `can't be read: ${error instanceof Error ? error.message : String(error)}`
  }
}
