import { parseArgs } from "node:util"

type Widened<T> = T extends number ? number : T extends boolean ? boolean : string

/**
 * The options of a benchmark's command line, by their defaults: a boolean is a flag, a number is read as one.
 *
 * @throws Error for an option that is not among them, and for what is no number where one is
 */
export function readFlags<T extends { readonly [name: string]: number | boolean | string }>(
  defaults: T,
): { readonly [K in keyof T]: Widened<T[K]> } {
  const flag = (usual: unknown) => ({ type: typeof usual === "boolean" ? "boolean" : "string" }) as const
  const options = Object.entries(defaults).map(([name, usual]) => [name, flag(usual)] as const)
  const { values } = parseArgs({ options: Object.fromEntries(options) })
  const read = Object.entries(defaults).map(([name, usual]) => {
    const value = values[name] ?? usual
    if (typeof usual === "number" && Number.isNaN(Number(value))) throw new Error(`--${name} is a number`)
    return [name, typeof usual === "number" ? Number(value) : value]
  })
  return Object.fromEntries(read)
}
