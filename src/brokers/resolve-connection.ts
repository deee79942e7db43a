import { enumerate, nearest } from "../words.ts"
import { placeOf } from "../config/file/configuration-file.ts"
import type { Problems } from "../config/file/problems.ts"
import { camelCase } from "../message.ts"
import { defineSection } from "../config/declarations.ts"
import type { OptionSet } from "../config/options/option-types.ts"
import { resolveSection, type Found, type Resolved } from "../config/options/resolve.ts"
import { deliveryTimeout, type ConnectionKind, type ConnectionOptions } from "./define-connection.ts"
import { fileKinds, kindNamed, type ConnectionKindName } from "./registry.ts"

/** A connection whose keys were read; `kind` is undefined where they do not determine it. */
export interface ResolvedConnection extends Resolved<ConnectionOptions> {
  readonly kind: ConnectionKind | undefined
}

/** What to add to a section: `bootstrap_servers = <host:port> for Kafka, or directory = <folder> for the embedded log`. */
export const KEYS_TO_ADD = fileKinds
  .map(({ key, form, noun }) => `${key} = ${form} for ${noun}`)
  .join(", or ")

/** Makes values of a connection's options. Code says its kind; in a file the key of one of the kinds does. */
export function resolveConnection(
  found: Found,
  problems: Problems,
  name?: ConnectionKindName | undefined,
): ResolvedConnection {
  const named = name && kindNamed(name)
  const keys = [...(found.section?.texts.keys() ?? [])]
  const kinds = fileKinds.filter((kind) => kind === named || keys.includes(kind.key!))
  const [kind, ...others] = named === undefined || kinds.includes(named) ? kinds : [named]
  const home = found.section ? placeOf(found.section) : { line: "code" as const, section: found.address }
  if (kind !== undefined && others.length === 0) {
    const resolved = resolveSection(kind, found, problems, (key) => keyOfOthers(key, kind))
    return { ...resolved, kind }
  }
  const distinct = fileKinds.map(({ key }) => key!)
  if (others.length > 0) {
    const both = enumerate(kinds.map(({ key, noun }) => `${key} (${noun})`))
    problems.add(home, `has ${kinds.length === 2 ? "both " : ""}${both}; keep one of them`)
  } else if (!keys.some((key) => nearest(key, distinct))) {
    const none =
      distinct.length === 2 ? `neither ${distinct.join(" nor ")}` : `none of ${enumerate(distinct)}`
    problems.add(home, `has ${none}; add ${KEYS_TO_ADD}`)
  }
  return { ...resolveSection(ANY, found, problems), isSound: () => false, kind: undefined }
}

function keyOfOthers(key: string, kind: ConnectionKind): string | undefined {
  const owners = fileKinds.filter(
    (it) => it !== kind && Object.keys(it.options).some((name) => name === key || camelCase(name) === key),
  )
  if (owners.length === 0) return undefined
  return `is an option of ${enumerate(owners.map(({ adjective }) => adjective))} connections only; remove it`
}

/** The options of all kinds that a file can have, for `[defaults:connection]`. */
export const CONNECTION_OPTIONS: OptionSet = Object.assign({}, ...fileKinds.map(({ options }) => options))

/** For a connection of unknown kind: known keys are checked, and none is required. */
const ANY = defineSection<ConnectionOptions>({
  ...fileKinds[0]!,
  options: {
    ...Object.fromEntries(
      Object.entries(CONNECTION_OPTIONS).map(([key, option]) => [
        key,
        { ...option, presence: "optional" as const },
      ]),
    ),
    delivery_timeout: deliveryTimeout,
  },
})
