import { EMBEDDED } from "./embedded-connection.ts"
import { KAFKA } from "./kafka-connection.ts"
import { MEMORY } from "./memory-connection.ts"
import { camelCase } from "../options/in-code.ts"
import { nearest } from "../file/nearest.ts"
import type { OptionSet, Values } from "../options/option.ts"
import { placeOf } from "../file/configuration-file.ts"
import type { Problems } from "../file/problems.ts"
import { resolveSection, type Found, type Resolved } from "../options/resolve.ts"
import { defineSection, type Section } from "../options/section.ts"

/** A valid connection. */
export type Connection =
  | { readonly kind: "kafka"; readonly values: Values<(typeof KAFKA)["options"]> }
  | { readonly kind: "embedded"; readonly values: Values<(typeof EMBEDDED)["options"]> }
  | { readonly kind: "memory"; readonly values: Values<(typeof MEMORY)["options"]> }

/** A connection whose keys were read; `kind` is undefined where they do not determine it. */
export interface ResolvedConnection extends Resolved<OptionSet> {
  readonly kind: Connection["kind"] | undefined
}

/**
 * Makes values of a connection's options. Code says its kind; in a file `bootstrap_servers` or
 * `directory` does.
 */
export function resolveConnection(
  found: Found,
  problems: Problems,
  kind?: Connection["kind"] | undefined,
): ResolvedConnection {
  if (kind === "memory") return { ...resolveSection(MEMORY as Section, found, problems), kind }
  const keys = [...(found.section?.texts.keys() ?? [])]
  const isKafka = kind === "kafka" || keys.includes("bootstrap_servers")
  const isEmbedded = kind === "embedded" || keys.includes("directory")
  const home = found.section ? placeOf(found.section) : { line: "code" as const, section: found.address }
  if (isKafka && isEmbedded) {
    problems.add(
      home,
      "has both bootstrap_servers (Kafka) and directory (the embedded log); keep one of them",
    )
  } else if (isKafka || isEmbedded) {
    const [own, other] = isKafka ? [KAFKA, EMBEDDED] : [EMBEDDED, KAFKA]
    const resolved = resolveSection(own as Section, found, problems, (key) =>
      Object.keys(other.options).some((it) => it === key || camelCase(it) === key)
        ? `is an option of ${isKafka ? "embedded" : "Kafka"} connections only; remove it`
        : undefined,
    )
    return { ...resolved, kind: isKafka ? "kafka" : "embedded" }
  } else if (!keys.some((key) => nearest(key, ["bootstrap_servers", "directory"]))) {
    problems.add(
      home,
      "has neither bootstrap_servers nor directory; add bootstrap_servers = <host:port> for Kafka, or directory = <folder> for the embedded log",
    )
  }
  return { ...resolveSection(EITHER, found, problems), isSound: () => false, kind: undefined }
}

/** The options of all kinds that a file can have, for `[defaults:connection]`. */
export const CONNECTION_OPTIONS: OptionSet = { ...KAFKA.options, ...EMBEDDED.options }

/** For a connection of unknown kind: known keys are checked, and none is required. */
const EITHER: Section = defineSection<OptionSet>({
  ...KAFKA,
  options: Object.fromEntries(
    Object.entries(CONNECTION_OPTIONS).map(([key, option]) => [
      key,
      { ...option, presence: "optional" as const },
    ]),
  ),
})
