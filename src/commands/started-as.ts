import { resolve } from "node:path"

/**
 * The command by which this process was started, for messages that name others: `hookline` where the PATH leads to it, else
 * the path that was typed, such as `bin/hookline`. Read before `leaveFolder`.
 */
export function startedAs(env: { readonly [name: string]: string | undefined } = process.env): string {
  if (env.npm_command === "exec") return "npx hookline"
  // that of bin/hookline is its $0
  const typed = Bun.isStandaloneExecutable ? process.argv0 : (env.HOOKLINE_STARTED_AS ?? "hookline")
  if (!typed.includes("/") || Bun.which("hookline", { PATH: env.PATH ?? "" }) === resolve(typed))
    return "hookline"
  return quoted(typed)
}

/** A word as a shell reads it. */
export const quoted = (word: string): string =>
  /^[\w./+@%:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
