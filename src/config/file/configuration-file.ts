import type { Steps } from "../../clock.ts"
import { interpolate, type Environment } from "./interpolate.ts"
import { readIni, type IniEntry, type IniSection } from "./ini.ts"
import { enumerate, nearest } from "./nearest.ts"
import { Problems, type Problem } from "./problems.ts"

/** The configuration file's texts by section, before options are parsed. */
export interface ConfigurationFile {
  /** The file as the user named it. */
  readonly file: string
  /** Absolute path of its folder. */
  readonly baseDir: string
  readonly connections: ReadonlyMap<string, FileSection>
  /** `[provider:<name>]`, by name. */
  readonly providers: ReadonlyMap<string, FileSection>
  readonly pipelines: ReadonlyMap<string, FilePipeline>
  readonly admin: FileSection | undefined
  readonly service: FileSection | undefined
  /** Sections with invalid names were skipped, which may be why something is missing. */
  readonly lacksSections: boolean
  readonly problems: readonly Problem[]
}

export interface FilePipeline {
  /** By the component's name as the file spells it, known or not. */
  readonly components: ReadonlyMap<string, FileSection>
  /** A section of this id names no component: missing parts need no report. */
  readonly incomplete: boolean
}

export interface FileSection {
  /** As the file spells it, without the brackets. */
  readonly name: string
  readonly line: number
  /** By key in lower case. */
  readonly texts: ReadonlyMap<string, FileText>
}

export interface FileText {
  /** The key as the file spells it. */
  readonly key: string
  readonly line: number
  /** undefined: interpolation failed, which is reported. */
  readonly text: string | undefined
  /** Whether messages may quote it. */
  readonly quotable: boolean
}

/** Reads the bytes of a configuration file. Problems are part of the result; nothing is thrown. */
export function* readConfigurationFile(
  bytes: Uint8Array,
  file: string,
  environment: Environment,
): Steps<ConfigurationFile> {
  const problems = new Problems(file)
  const addresses = new Map<string, FileSection>()
  const connections = new Map<string, FileSection>()
  const providers = new Map<string, FileSection>()
  const pipelines = new Map<string, { components: Map<string, FileSection>; incomplete: boolean }>()
  const pipeline = (id: string): { components: Map<string, FileSection>; incomplete: boolean } => {
    const known = pipelines.get(id) ?? { components: new Map(), incomplete: false }
    pipelines.set(id, known)
    return known
  }
  let lacksSections = false
  for (const ini of yield* readIni(bytes, (location, text) => problems.add(location, text))) {
    yield
    const section = readSection(ini, environment, problems)
    const parts = ini.name.split(":").map((part) => part.trim())
    const [kind, id = "", component = ""] = parts
    const wrong = wrongAddress(parts)
    if (wrong !== undefined) {
      problems.add({ line: ini.line, section: ini.name }, wrong)
      lacksSections = true
      if (kind === "pipeline" && id !== "") pipeline(id).incomplete = true
      continue
    }
    const first = addresses.get(parts.join(":"))
    if (first !== undefined) {
      problems.add(
        { line: ini.line, section: ini.name },
        `duplicate section; move its keys to line ${first.line}`,
      )
      continue
    }
    addresses.set(parts.join(":"), section)
    if (kind === "connection") connections.set(id, section)
    if (kind === "provider") providers.set(id, section)
    if (kind === "pipeline") pipeline(id).components.set(component, section)
  }
  return {
    file,
    baseDir: environment.baseDir,
    connections,
    providers,
    pipelines,
    admin: addresses.get("admin"),
    service: addresses.get("service"),
    lacksSections,
    problems: problems.all,
  }
}

function readSection(
  { name, line, entries }: IniSection,
  environment: Environment,
  problems: Problems,
): FileSection {
  const texts = [...entries].map(
    ([key, entry]) => [key, readText(name, entry, environment, problems)] as const,
  )
  return { name, line, texts: new Map(texts) }
}

/** Interpolates line by line, so that a substituted value can't add lines. */
function readText(
  section: string,
  { key, line, lines }: IniEntry,
  environment: Environment,
  problems: Problems,
): FileText {
  const parts = lines.map((part) =>
    interpolate(part.text, environment, (text) => problems.add({ line: part.line, section, key }, text)),
  )
  const sound = parts.filter((part) => part !== undefined)
  return {
    key,
    line,
    text: sound.length === parts.length ? sound.map(({ text }) => text).join("\n") : undefined,
    quotable: sound.length === parts.length && sound.every(({ substituted }) => !substituted),
  }
}

const KINDS = {
  connection: "[connection:<id>]",
  pipeline: "[pipeline:<id>:<Component>]",
  provider: "[provider:<name>]",
  admin: "[admin]",
  service: "[service]",
}

/** The problem with a section's name, split at its colons. */
function wrongAddress(parts: readonly string[]): string | undefined {
  const [kind = "", id = "", component = ""] = parts
  switch (kind) {
    case "admin":
    case "service":
      return parts.length === 1 ? undefined : `unknown section; did you mean [${kind}]?`
    case "connection":
      return parts.length === 2 && id !== ""
        ? undefined
        : `invalid section name; write ${KINDS.connection}, without : in the id`
    case "provider":
      return parts.length === 2 && id !== ""
        ? undefined
        : `invalid section name; write ${KINDS.provider}, without : in the name`
    case "pipeline":
      if (parts.length === 3 && id !== "" && component !== "") return undefined
      return parts.length === 2 && id !== ""
        ? `missing component; write ${KINDS.pipeline}, such as [pipeline:${id}:BrokerSink]`
        : `invalid section name; write ${KINDS.pipeline}, without : in the id`
    default: {
      const meant = nearest(kind, Object.keys(KINDS)) as keyof typeof KINDS | undefined
      return `unknown section; ${meant === undefined ? `expected ${enumerate(Object.values(KINDS), "or")}` : `did you mean ${KINDS[meant]}?`}`
    }
  }
}
