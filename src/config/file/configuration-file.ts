import { inSteps, type Steps } from "../../clock/slices.ts"
import { filesOf, filesOfValues, readSource } from "./include.ts"
import { eventValueIn, filesIn, interpolate, type Environment } from "./interpolate.ts"
import { hasRouteLines } from "./route-lines.ts"
import { readIni, type IniEntry, type IniSection } from "./ini.ts"
import { answering } from "../../process/regular-file.ts"
import type { StartError } from "../../errors.ts"
import { formsOf, wrongAddress } from "./section-names.ts"
import { Problems, type Place, type Problem } from "./problems.ts"

/** The configuration file's texts by section, its included files' too, before options are parsed. */
export interface ConfigurationFile {
  /** The file as the user named it. */
  readonly file: string
  /** Absolute path of its folder. */
  readonly baseDir: string
  readonly connections: ReadonlyMap<string, FileSection>
  /** `[provider:<name>]`, by name. */
  readonly providers: ReadonlyMap<string, FileSection>
  readonly pipelines: ReadonlyMap<string, FilePipeline>
  /** Those of extensions, by kind and id. */
  readonly sections: ReadonlyMap<string, ReadonlyMap<string, FileSection>>
  /** `[forward:<id>]`, by id. */
  readonly forwards: ReadonlyMap<string, FileSection>
  /** `[defaults:<Component>]`, by the name as the file spells it, known or not. */
  readonly defaults: ReadonlyMap<string, FileSection>
  readonly admin: FileSection | undefined
  readonly traces: FileSection | undefined
  readonly service: FileSection | undefined
  /** Sections with invalid names were skipped, which may be why something is missing. */
  readonly lacksSections: boolean
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
  /** Names of environment variables that the values read so far refer to. */
  readonly variables: ReadonlySet<string>
}

export interface FilePipeline {
  /** The sections by their component's name as the file spells it, known or not. */
  readonly components: ReadonlyMap<string, FileSection>
  /** A section of this id names no component: missing parts need no report. */
  readonly incomplete: boolean
}

export interface FileSection {
  /** The name as the file spells it, without the brackets. */
  readonly name: string
  /** The file that it stands in, as messages name it. */
  readonly file: string
  readonly line: number
  /** The texts by key, in lower case. */
  readonly texts: ReadonlyMap<string, FileText>
}

export interface FileText {
  /** The key as the file spells it. */
  readonly key: string
  /** The section that it stands in, without the brackets. */
  readonly section: string
  readonly file: string
  readonly line: number
  /** Absolute base of relative paths: the folder of the file that it stands in. */
  readonly baseDir: string
  /** Interpolated when first read, so that what is not read needs no secret. */
  readonly value: FileValue
}

export interface FileValue {
  /** undefined: interpolation failed. */
  readonly text: string | undefined
  /** Whether messages may quote it. */
  readonly quotable: boolean
  /** The values of variables and files in it; undefined: there are none. */
  readonly values?: readonly string[]
  /** As of Interpolated; absent: none. */
  readonly fileCommas?: readonly number[]
  /** Problems of the interpolation, each with its line. */
  readonly problems: readonly (Pick<Problem, "line" | "text" | "error"> & {
    /** The text where the value is a secret; undefined: the same. */
    readonly ofSecret?: string | undefined
  })[]
}

/** A file of the configuration, as messages name it, and where it lies. */
interface Source extends Environment {
  readonly file: string
}

/** Reads the bytes of a configuration file, and the files that it includes. Problems are part of the result. */
export function* readConfigurationFile(
  bytes: Uint8Array,
  file: string,
  environment: Environment,
): Steps<ConfigurationFile> {
  const problems = new Problems(file)
  const variables = new Set<string>()
  const addresses = new Map<string, FileSection>()
  const byKind = new Map<string, Map<string, FileSection>>()
  const named = (kind: string): Map<string, FileSection> =>
    byKind.getOrInsertComputed(kind, () => new Map<string, FileSection>())
  const pipelines = new Map<string, { components: Map<string, FileSection>; incomplete: boolean }>()
  const pipeline = (id: string): { components: Map<string, FileSection>; incomplete: boolean } =>
    pipelines.getOrInsertComputed(id, () => ({ components: new Map(), incomplete: false }))
  const forms = formsOf(environment.kinds ?? [])
  let lacksSections = false
  for (const section of yield* readSections(bytes, { ...environment, variables, file }, problems)) {
    yield
    const parts = section.name.split(":").map((part) => part.trim())
    const [kind, id = "", component = ""] = parts
    const wrong = wrongAddress(parts, forms)
    if (wrong !== undefined) {
      problems.add(placeOf(section), wrong, "unknown_section")
      lacksSections = true
      if (kind === "pipeline" && id !== "") pipeline(id).incomplete = true
      continue
    }
    const address = parts.join(":")
    const first = addresses.get(address)
    if (first !== undefined) {
      const text = `duplicate section; move its keys to ${placeFrom(section, first)}`
      problems.add(placeOf(section), text, "duplicate_section")
      continue
    }
    addresses.set(address, section)
    if (kind === "pipeline") pipeline(id).components.set(component, section)
    else named(kind!).set(id, section)
  }
  return {
    file,
    baseDir: environment.baseDir,
    connections: named("connection"),
    providers: named("provider"),
    pipelines,
    sections: new Map(environment.kinds?.map((kind) => [kind, named(kind)])),
    forwards: named("forward"),
    defaults: named("defaults"),
    admin: addresses.get("admin"),
    traces: addresses.get("traces"),
    service: addresses.get("service"),
    // a file that is no text has none
    lacksSections: lacksSections || (addresses.size === 0 && problems.hasAny),
    problems: problems.all,
    warnings: problems.allWarnings,
    variables,
  }
}

/** The place of a section. */
export const placeOf = ({ file, line, name }: FileSection): Place => ({ file, line, section: name })

/** The place of another section, as a message on this one names it. */
export const placeFrom = ({ file }: FileSection, other: FileSection): string =>
  other.file === file ? `line ${other.line}` : `${other.file}:${other.line}`

/** The sections of a file, then those of the files that it includes; included ones can't include others. */
function* readSections(
  bytes: Uint8Array,
  source: Source,
  problems: Problems,
  isIncluded = false,
): Steps<FileSection[]> {
  const { file } = source
  const report = (location: Place, text: string, error: StartError = "invalid_line"): void =>
    problems.add({ ...location, file }, text, error)
  const { include, sections } = yield* readIni(bytes, report)
  yield* answering(yield* filesOfValues(sections, source))
  const all = yield* inSteps(sections, (ini) => sectionOf(ini, source))
  if (include === undefined) return all
  const place = { file, line: include.line, key: include.key }
  if (isIncluded) {
    problems.add(place, `an included file can't include others; name them in ${problems.file}`)
    return all
  }
  for (const { text } of include.lines) yield* answering(filesIn(text, source))
  const value = valueOf(include.lines, source)
  for (const { line, text, error } of value.problems)
    report({ line, key: include.key }, text, error ?? "invalid_value")
  if (value.text === undefined) return all
  const including = { ...source, isQuotable: value.quotable }
  for (const included of yield* filesOf(value.text, including, place, problems)) {
    const found = yield* readSource(included, source.reads)
    if (typeof found === "string")
      problems.add({ file: included.file, line: undefined }, found, "file_unreadable")
    else all.push(...(yield* readSections(found, { ...source, ...included }, problems, true)))
  }
  return all
}

function sectionOf({ name, line, entries }: IniSection, source: Source): FileSection {
  const texts = new Map<string, FileText>()
  for (const [key, entry] of entries) texts.set(key, textOf(name, entry, source))
  return { name, file: source.file, line, texts }
}

function textOf(section: string, { key, line, lines }: IniEntry, source: Source): FileText {
  const { file, baseDir } = source
  const text = lines[0]?.text ?? ""
  // nearly all; what they are read from is not kept
  if (lines.length <= 1 && !text.includes("${")) {
    const literal = { text, quotable: true, problems: NO_PROBLEMS }
    return { key, section, file, line, baseDir, value: literal }
  }
  let value: FileValue | undefined
  return {
    key,
    section,
    file,
    line,
    baseDir,
    get value() {
      return (value ??= wrongEventValue(section, key, lines) ?? valueOf(lines, source))
    },
  }
}

const NO_PROBLEMS: FileValue["problems"] = []

/** The value of a key that refers to a value of the event as to a variable; undefined: it does not. */
function wrongEventValue(section: string, key: string, lines: IniEntry["lines"]): FileValue | undefined {
  for (const { text, line } of lines) {
    const named = eventValueIn(text)
    if (named === undefined) continue
    const [kind, id] = section.split(":").map((part) => part.trim())
    const inBraces = text.replaceAll("${", "{")
    const way = hasRouteLines(section)
      ? `write ${inBraces}`
      : key.toLowerCase() === "topic" && kind === "pipeline"
        ? `a Router chooses topics by it: write topic = ${inBraces} in [pipeline:${id}:Router]`
        : `write ${named}, without \${ and }`
    const problem = `\${${named}} is of the event, and no variable; ${way}`
    return { text: undefined, quotable: false, problems: [{ line, text: problem }] }
  }
  return undefined
}

/** Interpolates line by line, so that a substituted value can't add lines. */
function valueOf(lines: IniEntry["lines"], environment: Environment): FileValue {
  const problems: FileValue["problems"][number][] = []
  const values: string[] = []
  const parts = lines.map(({ text, line }) =>
    interpolate(text, { ...environment, values }, (problem, error, ofSecret) =>
      problems.push({ line, text: problem, error, ofSecret }),
    ),
  )
  const sound = parts.filter((part) => part !== undefined)
  const isSound = sound.length === parts.length
  const fileCommas: number[] = []
  let text = ""
  for (const [at, part] of sound.entries()) {
    if (at > 0) text += "\n"
    for (const comma of part.fileCommas) fileCommas.push(text.length + comma)
    text += part.text
  }
  return {
    text: isSound ? text : undefined,
    quotable: isSound && sound.every(({ substituted }) => !substituted),
    ...(values.length > 0 && { values }),
    problems,
    ...(fileCommas.length > 0 && { fileCommas }),
  }
}
