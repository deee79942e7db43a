import { enumerate, nearest } from "../../words.ts"

/** The forms of sections' names, by kind, and what a wrong name may have missed; of one word alone nothing. */
interface SectionForms {
  readonly [kind: string]: readonly [form: string, hint?: string]
}

const byId = (kind: string): SectionForms[string] => [`[${kind}:<id>]`, ", without : in the id"]

/** @param kinds of extensions */
export const formsOf = (kinds: readonly string[]): SectionForms => ({
  connection: byId("connection"),
  pipeline: ["[pipeline:<id>:<Component>]", ", without : in the id"],
  provider: ["[provider:<name>]", ", without : in the name"],
  ...Object.fromEntries(kinds.map((kind) => [kind, byId(kind)])),
  forward: byId("forward"),
  defaults: ["[defaults:<Component>]", ", or [defaults:connection]"],
  admin: ["[admin]"],
  traces: ["[traces]"],
  service: ["[service]"],
})

/** What people call their connections, and what components are called. */
const CONNECTIONS = /^(?:kafka|log|broker|embedded)$/i
const COMPONENT = /^(?:[A-Z][a-z]+){2,}$|^[A-Z][a-z]+(?:er|or)$/

/** The problem with a section's name, split at its colons. */
export function wrongAddress(parts: readonly string[], known: SectionForms): string | undefined {
  const [kind = "", id = ""] = parts
  if (!Object.hasOwn(known, kind)) {
    if (parts.length === 1 && CONNECTIONS.test(kind))
      return `unknown section; did you mean [connection:${kind}]?`
    if (parts.length === 1 && COMPONENT.test(kind))
      return `unknown section; did you mean [pipeline:<id>:${kind}]?`
    const meant = nearest(kind, Object.keys(known))
    const forms = Object.values(known).map(([form]) => form)
    return `unknown section; ${meant === undefined ? `expected ${enumerate(forms, "or")}` : `did you mean ${known[meant]![0]}?`}`
  }
  const [form, hint] = known[kind]!
  const length = hint === undefined ? 1 : kind === "pipeline" ? 3 : 2
  if (parts.length === length && !parts.includes("")) return undefined
  if (hint === undefined) return `unknown section; did you mean ${form}?`
  return kind === "pipeline" && parts.length === 2 && id !== ""
    ? `missing component; write ${form}, such as [pipeline:${id}:BrokerSink]`
    : `invalid section name; write ${form}${hint}`
}
