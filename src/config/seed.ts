import type { Steps } from "../slices.ts"
import { interpolate, type Surroundings } from "./interpolate.ts"
import { readIni, type IniEntry, type IniSection } from "./ini.ts"
import { nearest } from "./nearest.ts"
import { Problems, type Problem } from "./problems.ts"

/** What the configuration file says, as texts by address: defaults for what code or the file itself names. */
export interface Seed {
  /** The file as the user named it. */
  readonly file: string
  /** Absolute path of its folder. */
  readonly baseDir: string
  readonly connections: ReadonlyMap<string, SeedSection>
  readonly pipelines: ReadonlyMap<string, SeedPipeline>
  readonly admin: SeedSection | undefined
  readonly service: SeedSection | undefined
  /** Sections whose names are wrong were passed over: that something is missing may come from that. */
  readonly lacksSections: boolean
  /** What is wrong so far. */
  readonly problems: readonly Problem[]
}

export interface SeedPipeline {
  /** By the component's name as the file spells it: which components there are is not known here. */
  readonly components: ReadonlyMap<string, SeedSection>
  /** A section of this id has no readable component: that parts are missing need not be told. */
  readonly incomplete: boolean
}

export interface SeedSection {
  /** As the file spells it, without the brackets. */
  readonly name: string
  readonly line: number
  /** By key in lower case. */
  readonly texts: ReadonlyMap<string, SeedText>
}

export interface SeedText {
  /** The key as the file spells it. */
  readonly key: string
  readonly line: number
  /** undefined: it could not be had, and that was told. */
  readonly text: string | undefined
  /** Whether messages may quote it. */
  readonly quotable: boolean
}

/** Reads the bytes of a configuration file. What is wrong is in the result; nothing is thrown. */
export function* readSeed(bytes: Uint8Array, file: string, surroundings: Surroundings): Steps<Seed> {
  const problems = new Problems(file)
  const addresses = new Map<string, SeedSection>()
  const connections = new Map<string, SeedSection>()
  const pipelines = new Map<string, { components: Map<string, SeedSection>; incomplete: boolean }>()
  const pipeline = (id: string): { components: Map<string, SeedSection>; incomplete: boolean } => {
    const known = pipelines.get(id) ?? { components: new Map(), incomplete: false }
    pipelines.set(id, known)
    return known
  }
  let lacksSections = false
  for (const ini of yield* readIni(bytes, (place, text) => problems.add(place, text))) {
    yield
    const section = seedSection(ini, surroundings, problems)
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
        `is there twice; put its keys into the first one, in line ${first.line}`,
      )
      continue
    }
    addresses.set(parts.join(":"), section)
    if (kind === "connection") connections.set(id, section)
    if (kind === "pipeline") pipeline(id).components.set(component, section)
  }
  return {
    file,
    baseDir: surroundings.baseDir,
    connections,
    pipelines,
    admin: addresses.get("admin"),
    service: addresses.get("service"),
    lacksSections,
    problems: problems.all,
  }
}

function seedSection(
  { name, line, entries }: IniSection,
  surroundings: Surroundings,
  problems: Problems,
): SeedSection {
  const texts = [...entries].map(
    ([key, entry]) => [key, seedText(name, entry, surroundings, problems)] as const,
  )
  return { name, line, texts: new Map(texts) }
}

/** Each line is interpolated on its own, so that what is put in never changes which lines there are. */
function seedText(
  section: string,
  { key, line, lines }: IniEntry,
  surroundings: Surroundings,
  problems: Problems,
): SeedText {
  const parts = lines.map((part) =>
    interpolate(part.text, surroundings, (text) => problems.add({ line: part.line, section, key }, text)),
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
  admin: "[admin]",
  service: "[service]",
}

/** Says what is wrong with the name of a section, split at its colons. */
function wrongAddress(parts: readonly string[]): string | undefined {
  const [kind = "", id = "", component = ""] = parts
  switch (kind) {
    case "admin":
    case "service":
      return parts.length === 1 ? undefined : `is unknown; did you mean [${kind}]?`
    case "connection":
      return parts.length === 2 && id !== ""
        ? undefined
        : `is not the name of a connection; write ${KINDS.connection}, without : in the id`
    case "pipeline":
      if (parts.length === 3 && id !== "" && component !== "") return undefined
      return parts.length === 2 && id !== ""
        ? `names no component; write ${KINDS.pipeline}, such as [pipeline:${id}:BrokerSink]`
        : `is not the name of a pipeline's component; write ${KINDS.pipeline}, without : in the id`
    default: {
      const meant = nearest(kind, Object.keys(KINDS)) as keyof typeof KINDS | undefined
      return `is unknown; ${meant === undefined ? `sections are ${Object.values(KINDS).join(", ")}` : `did you mean ${KINDS[meant]}?`}`
    }
  }
}
