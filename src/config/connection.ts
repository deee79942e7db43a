import { EMBEDDED } from "./embedded-connection.ts"
import { KAFKA } from "./kafka-connection.ts"
import { nearest } from "./nearest.ts"
import type { OptionSet, Values } from "./option.ts"
import type { Problems } from "./problems.ts"
import { resolveSection, type Found, type Given, type Resolved } from "./resolve.ts"
import { defineSection, type Section } from "./section.ts"

/** A connection with its values, once nothing is wrong. */
export type Connection =
  | { readonly kind: "kafka"; readonly values: Values<(typeof KAFKA)["options"]> }
  | { readonly kind: "embedded"; readonly values: Values<(typeof EMBEDDED)["options"]> }

/** A connection whose keys were read; `kind` is undefined where they do not say it. */
export interface ResolvedConnection extends Resolved<OptionSet> {
  readonly kind: Connection["kind"] | undefined
}

/**
 * Makes values of a connection's options. Its kind is told by which of `bootstrap_servers` and `directory` is there,
 * in code or the file.
 */
export function resolveConnection(found: Found, problems: Problems): ResolvedConnection {
  const keys = [...(found.seed?.texts.keys() ?? []), ...keysOf(found.given ?? {})]
  const isKafka = keys.includes("bootstrap_servers")
  const isEmbedded = keys.includes("directory")
  const home = { line: found.seed?.line ?? ("code" as const), section: found.seed?.name ?? found.address }
  if (isKafka && isEmbedded) {
    problems.add(
      home,
      "has both bootstrap_servers (Kafka) and directory (the embedded log); keep one of them",
    )
  } else if (isKafka || isEmbedded) {
    const [own, other] = isKafka ? [KAFKA, EMBEDDED] : [EMBEDDED, KAFKA]
    const resolved = resolveSection(own as Section, found, problems, (key) =>
      Object.hasOwn(other.options, key)
        ? `belongs to ${isKafka ? "an embedded" : "a Kafka"} connection and this is ${isKafka ? "a Kafka" : "an embedded"} one; remove it`
        : undefined,
    )
    return { ...resolved, kind: isKafka ? "kafka" : "embedded" }
  } else if (!keys.some((key) => nearest(key, ["bootstrap_servers", "directory"]))) {
    problems.add(
      home,
      "has neither bootstrap_servers nor directory; add bootstrap_servers = <host:port> for Kafka, or directory = <folder> for the embedded log",
    )
  }
  return { ...resolveSection(EITHER, found, problems), kind: undefined }
}

const keysOf = (given: Given): string[] => Object.keys(given).filter((key) => given[key] !== undefined)

/** For a connection of unknown kind: what it holds is checked as far as that goes, and nothing is missing. */
const EITHER: Section = defineSection<OptionSet>({
  ...KAFKA,
  options: Object.fromEntries(
    Object.entries({ ...KAFKA.options, ...EMBEDDED.options }).map(([key, option]) => [
      key,
      { ...option, presence: "optional" as const },
    ]),
  ),
})
