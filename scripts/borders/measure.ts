import type { Source } from "./sources.ts"
import { ALONE, APART, FEATURES, INNER, LAYERS, type Feature } from "./table.ts"

type Sources = ReadonlyMap<string, Source>

/** What is known of a room. */
export interface Room {
  readonly name: string
  readonly lines: number
  readonly files: number
  /** Its files that are imported from outside it. */
  readonly doors: readonly string[]
  /** Names of its files that are imported from outside it. */
  readonly names: number
}

const isIn = (path: string, room: string): boolean =>
  path === room || path.startsWith(room.endsWith("/") ? room : `${room}/`)
const ROOMS = [...LAYERS.flat(), "console", "scripts"]
const roomOf = (path: string): string | undefined => ROOMS.find((room) => isIn(path, room))
const layerOf = (room: string): number => LAYERS.findIndex((rooms) => rooms.includes(room))

export function measureRooms(sources: Sources): Room[] {
  return [...ROOMS, ...INNER].map((name) => {
    const own = [...sources.values()].filter(({ path }) => isIn(path, name))
    const doors = new Set<string>()
    const names = new Set<string>()
    for (const { path, imports } of sources.values()) {
      if (isIn(path, name)) continue
      for (const it of imports.filter((it) => isIn(it.path, name))) {
        doors.add(it.path)
        for (const one of it.names) names.add(`${it.path} ${one}`)
      }
    }
    const lines = own.reduce((sum, it) => sum + it.lines, 0)
    return { name, lines, files: own.length, doors: [...doors].toSorted(), names: names.size }
  })
}

/** Returns a sentence for each import that the table does not allow. */
export function wrongImports(sources: Sources): string[] {
  const wrong: string[] = []
  for (const { path, imports } of sources.values()) {
    for (const { path: to } of imports) {
      const why = whyNot(path, to)
      if (why !== undefined) wrong.push(`${path} imports ${to}: ${why}`)
    }
  }
  return [...new Set(wrong)]
}

function whyNot(from: string, to: string): string | undefined {
  // package.json and the like belong to no room
  if (!/\.tsx?$/.test(to)) return undefined
  const alone = ALONE.find((it) => isIn(from, it.from))
  if (alone !== undefined && ![alone.from, ...alone.only].some((it) => isIn(to, it))) return alone.why
  const apart = APART.find((it) => isIn(from, it.from) && !it.except.includes(from))
  if (apart?.not.some((it) => isIn(to, it)) === true) return apart.why
  const [room, other] = [roomOf(from), roomOf(to)]
  if (room === undefined || other === undefined || room === other) return undefined
  const [above, below] = [layerOf(room), layerOf(other)]
  if (above === -1) return undefined
  if (below === above) return `${other} is its neighbour`
  return below < above ? `${other} is above it` : undefined
}

/** Returns the circles of files that import each other, each by its files. */
export function circles(sources: Sources): string[][] {
  const found: string[][] = []
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const visit = (path: string): void => {
    index.set(path, index.size)
    low.set(path, index.get(path)!)
    stack.push(path)
    for (const { path: to } of sources.get(path)!.imports) {
      if (!sources.has(to)) continue
      if (!index.has(to)) visit(to)
      if (stack.includes(to)) low.set(path, Math.min(low.get(path)!, low.get(to)!))
    }
    if (low.get(path) !== index.get(path)) return
    const circle = stack.splice(stack.indexOf(path))
    if (circle.length > 1) found.push(circle.toSorted())
  }
  for (const path of sources.keys()) if (!index.has(path)) visit(path)
  return found
}

/** Returns the files outside a feature's own that know it: that import it, or name its section or something that it exports. */
export function knowing(sources: Sources, { own, words }: Feature): string[] {
  const isOwn = (path: string): boolean => own.some((it) => isIn(path, it))
  const stem = words[0]!.slice(0, 6)
  const exported = [...sources.values()]
    .filter(({ path }) => isOwn(path))
    .flatMap((it) => it.exports)
    // "send" or "State" name many things
    .filter((it) => it.toLowerCase().includes(stem))
  const named = new RegExp(`\\b(?:${[...words, ...exported].join("|")})\\b`)
  return [...sources.values()]
    .filter(({ path }) => !isOwn(path) && !isIn(path, "scripts/borders"))
    .filter(({ imports, code }) => imports.some((it) => isOwn(it.path)) || named.test(code))
    .map(({ path }) => path)
}

/** Files of the Kafka client that import the server for Kafka clients. */
export const onListener = (sources: Sources): string[] =>
  [...sources.values()]
    .filter(
      ({ path, imports }) =>
        isIn(path, "src/brokers/kafka") && imports.some((it) => isIn(it.path, "src/kafka-listener")),
    )
    .map(({ path }) => path)

const PREPOSITION = /^(?:What|Of|How|Where|As|By|For|From) /

/** Doc comments that begin with a preposition or a pronoun, and "Whether" of anything but a boolean. */
export const unidiomatic = (sources: Sources): number =>
  [...sources.values()]
    .flatMap(({ docs }) => docs)
    .filter(
      ({ text, of }) =>
        PREPOSITION.test(text) ||
        (text.startsWith("Whether ") && !/boolean|\bis\b|\bis[A-Z]|\bhas|: \w+ is /.test(of)),
    ).length

/** The numbers that are to fall. */
export function numbersOf(sources: Sources): Record<string, number> {
  const rooms = measureRooms(sources)
  return {
    circles: circles(sources).length,
    "wrong imports": wrongImports(sources).length,
    "names that cross a border": rooms.slice(0, ROOMS.length).reduce((sum, { names }) => sum + names, 0),
    "files of brokers/kafka that import kafka-listener": onListener(sources).length,
    "doc comments that begin with a preposition": unidiomatic(sources),
    ...Object.fromEntries(FEATURES.map((it) => [`files that know ${it.name}`, knowing(sources, it).length])),
    ...Object.fromEntries(
      rooms
        .filter(({ name }) => !name.endsWith(".ts"))
        .map(({ name, doors }) => [`doors of ${name}`, doors.length]),
    ),
  }
}
