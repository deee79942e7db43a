import { join, resolve } from "node:path"

/** Where dedupe keys are kept. */
export type Location =
  /** In the memory of this process, for one pipeline. */
  | { readonly kind: "memory"; readonly pipeline: string }
  /** In a file in this folder. */
  | { readonly kind: "embedded"; readonly directory: string }
  /**
   * In a Redis or Valkey; `name` is the URL without user and password, `ca` in PEM what its certificate is checked
   * against, undefined: the public CAs.
   */
  | { readonly kind: "redis"; readonly url: string; readonly name: string; readonly ca: string | undefined }

/** What the text of a store looks like, for messages and the reference. */
export const STORE_FORM =
  "embedded, memory, a folder, or redis://[user:password@]host[:port][/database] (rediss:// with TLS)"

/** The folder of an embedded store where there is no embedded log: that of the log in the pipelines.conf to begin with. */
const DEFAULT_FOLDER = "hookline-data"

/** What a store's location depends on beside its text. */
export interface Home {
  readonly pipeline: string
  /** The folder of the embedded log that the pipeline publishes to; undefined: it publishes elsewhere. */
  readonly logDirectory: string | undefined
  /** Absolute path that relative paths start from. */
  readonly baseDir: string
}

/** Whether the text is a store's. */
export const isStore = (text: string): boolean => text !== "" && (!hasScheme(text) || isRedisUrl(text))

/** Whether the text is a folder's path. */
export const isFolder = (text: string): boolean =>
  !hasScheme(text) && text !== "embedded" && text !== "memory"

/** Whether the store of a text is one for several processes together. */
export const isShared = (text: string): boolean => isRedisUrl(text)

/** Whether the text is that of a store which is reached by TLS. */
export const isTls = (text: string): boolean => /^rediss:/i.test(text)

/** Says where the store is that a text names. */
export function locate(
  text: string,
  { pipeline, logDirectory, baseDir }: Home,
  ca?: string | undefined,
): Location {
  if (text === "memory") return { kind: "memory", pipeline }
  if (text === "embedded")
    return { kind: "embedded", directory: resolve(logDirectory ?? join(baseDir, DEFAULT_FOLDER)) }
  if (!hasScheme(text)) return { kind: "embedded", directory: resolve(text) }
  const { protocol, host, pathname } = new URL(text)
  return { kind: "redis", url: text, name: `${protocol}//${host}${pathname === "/" ? "" : pathname}`, ca }
}

/** A location as people may read it, without user and password. */
export function nameOf(location: Location): string {
  switch (location.kind) {
    case "memory":
      return `memory of ${location.pipeline}`
    case "embedded":
      return location.directory
    case "redis":
      return location.name
  }
}

const hasScheme = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text)

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, search, hash } = new URL(text)
  return (
    ["redis:", "rediss:"].includes(protocol) &&
    hostname !== "" &&
    /^(?:\/\d*)?$/.test(pathname) &&
    search === "" &&
    hash === ""
  )
}
