import { join, resolve } from "node:path"
import { isRedisUrl, parseRedisUrl, REDIS_FORM } from "../addresses/redis-url.ts"

/** Where dedupe keys are stored. `name` is for messages, without credentials. */
export type Location = { readonly name: string } &
  /** In memory, for one pipeline. */
  (
    | { readonly kind: "memory" }
    /** In a file of an absolute folder. */
    | { readonly kind: "embedded"; readonly directory: string }
    /** In Redis or Valkey. `ca` in PEM; undefined: the public CAs. */
    | { readonly kind: "redis"; readonly url: string; readonly ca: string | undefined }
  )

/** For messages and the reference. */
export const STORE_FORM = `embedded, memory, a folder, or ${REDIS_FORM}`

/** The folder of an embedded store without an embedded log: that of the log in the initial pipelines.conf. */
export const DEFAULT_FOLDER = "hookline-data"

export interface Home {
  readonly pipeline: string
  /** Folder of the embedded log that the pipeline publishes to, if any. */
  readonly logDirectory: string | undefined
  /** Absolute; relative paths start from it. */
  readonly baseDir: string
}

/** Whether a text has STORE_FORM. */
export const isStore = (text: string): boolean => text !== "" && (!hasScheme(text) || isRedisUrl(text))

export const isFolder = (text: string): boolean =>
  !hasScheme(text) && text !== "embedded" && text !== "memory"

export function locate(
  text: string,
  { pipeline, logDirectory, baseDir }: Home,
  ca?: string | undefined,
): Location {
  if (text === "memory") return { kind: "memory", name: `memory of ${pipeline}` }
  if (hasScheme(text)) return { kind: "redis", url: text, name: parseRedisUrl(text)!.name, ca }
  const directory = resolve(text === "embedded" ? (logDirectory ?? join(baseDir, DEFAULT_FOLDER)) : text)
  return { kind: "embedded", directory, name: directory }
}

const hasScheme = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
