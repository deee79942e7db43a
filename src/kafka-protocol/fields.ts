import { ByteReader, Malformed } from "./byte-reader.ts"
import { ByteWriter } from "./byte-writer.ts"

/*
 * Reads and writes messages of the Kafka protocol, of any version, from the tables of messages.ts:
 * https://kafka.apache.org/protocol and
 * https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/README.md
 *
 * A field is in the versions `in`; one that a version lacks reads as its default. In the API's `flexible` versions lengths are
 * varints, and each struct ends with tagged fields, which are optional: they are read over, and none is written.
 */

/** `3`, `3+`, `3-5` or `none`. */
type Versions = string

interface FieldTable {
  readonly [name: string]: Field
}
type Type = keyof Scalars | FieldTable
interface Described<N extends Versions | undefined> {
  readonly nullable?: N
  readonly default?: number | boolean | null
}
type Field = { readonly in: Versions } & Described<Versions | undefined> &
  ({ readonly is: Type } | { readonly each: Type })

/** A field of one value, which may be a struct. */
export const field = <T extends Type, N extends Versions | undefined = undefined>(
  versions: Versions,
  is: T,
  described: Described<N> = {},
) => ({ ...described, nullable: described.nullable as N, in: versions, is })

/** A field that is a list. */
export const list = <T extends Type, N extends Versions | undefined = undefined>(
  versions: Versions,
  each: T,
  described: Described<N> = {},
) => ({ ...described, nullable: described.nullable as N, in: versions, each })

export interface Api {
  readonly key: number
  /** The versions that the specification has. */
  readonly versions: Versions
  readonly flexible: Versions
  readonly request: FieldTable
  readonly response: FieldTable
}

interface Scalars {
  bool: boolean
  int8: number
  int16: number
  uint16: number
  int32: number
  /** Exact up to 2^53. */
  int64: number
  string: string
  /** In base64url, without padding. */
  uuid: string
  bytes: Uint8Array
  records: Uint8Array
}

type ValueOfType<T> = T extends keyof Scalars ? Scalars[T] : { readonly [K in keyof T]: ValueOf<T[K]> }
type ValueOf<F> =
  | (F extends { each: infer T }
      ? readonly ValueOfType<T>[]
      : F extends { is: infer T }
        ? ValueOfType<T>
        : never)
  | (F extends { nullable: string } ? null : never)

type DraftOfType<T> = T extends keyof Scalars
  ? Scalars[T]
  : { readonly [K in keyof T]?: DraftOf<T[K]> | undefined }
type DraftOf<F> =
  | (F extends { each: infer T }
      ? readonly DraftOfType<T>[]
      : F extends { is: infer T }
        ? DraftOfType<T>
        : never)
  | (F extends { nullable: string } ? null : never)

/** A request as it was read. */
export type RequestOf<A extends Api> = ValueOfType<A["request"]>
/** A response to be written: what is left out has its default. */
export type ResponseOf<A extends Api> = DraftOfType<A["response"]>

interface Struct {
  readonly [name: string]: unknown
}

export function isIn(versions: Versions, version: number): boolean {
  const [least, most] = rangeOf(versions)
  return version >= least && version <= most
}

/** The first and the last of them; `3+` ends at infinity, `none` has no version. */
export function rangeOf(versions: Versions): readonly [number, number] {
  if (versions === "none") return [0, -1]
  const least = Number.parseInt(versions, 10)
  if (versions.endsWith("+")) return [least, Number.POSITIVE_INFINITY]
  return [least, Number(versions.split("-")[1] ?? least)]
}

/** @throws Malformed */
export const readRequest = <A extends Api>(api: A, version: number, from: ByteReader): RequestOf<A> =>
  structOf(api.request, version, api.flexible).read(from) as RequestOf<A>

export const writeResponse = <A extends Api>(
  api: A,
  version: number,
  response: ResponseOf<A>,
  to: ByteWriter,
): void => structOf(api.response, version, api.flexible).write(to, response)

/** How values of a type are read and written in one version. */
interface Codec<T> {
  read(from: ByteReader): T
  write(to: ByteWriter, value: T): void
}

const structs = new WeakMap<FieldTable, Map<number, Codec<Struct>>>()

/** Made once for each version. */
export function structOf(table: FieldTable, version: number, flexible: Versions): Codec<Struct> {
  const known = structs.getOrInsertComputed(table, () => new Map<number, Codec<Struct>>())
  return known.getOrInsertComputed(version, () => makeStruct(table, version, flexible))
}

interface VersionedField {
  readonly name: string
  readonly codec: Codec<unknown>
  readonly fallback: () => unknown
}

function makeStruct(table: FieldTable, version: number, flexible: Versions): Codec<Struct> {
  const isFlexible = isIn(flexible, version)
  const own: VersionedField[] = []
  const absent: VersionedField[] = []
  for (const [name, field] of Object.entries(table)) {
    const one = { name, codec: codecOf(field, version, flexible), fallback: fallbackOf(field) }
    ;(isIn(field.in, version) ? own : absent).push(one)
  }
  return {
    read(from) {
      const struct: { [name: string]: unknown } = {}
      for (const { name, codec } of own) struct[name] = codec.read(from)
      for (const { name, fallback } of absent) struct[name] = fallback()
      if (isFlexible) from.skipTags()
      return struct
    },
    write(to, struct) {
      for (const { name, codec, fallback } of own) {
        const value = struct[name]
        codec.write(to, value === undefined ? fallback() : value)
      }
      if (isFlexible) to.varint(0)
    },
  }
}

/** Makes the codec of a field within its versions: with its list and its null. */
function codecOf(field: Field, version: number, flexible: Versions): Codec<unknown> {
  const isFlexible = isIn(flexible, version)
  const isNullable = field.nullable !== undefined && isIn(field.nullable, version)
  if ("is" in field) return elementOf(field.is, version, flexible, isNullable)
  const element = elementOf(field.each, version, flexible, false)
  return {
    read(from) {
      const count = from.elements(isFlexible)
      if (count < 0) return isNullable ? null : malformed()
      const list: unknown[] = []
      for (let at = 0; at < count; at++) list.push(element.read(from))
      return list
    },
    write(to, value) {
      const list = value as readonly unknown[] | null
      to.count(list === null ? -1 : list.length, isFlexible, 4)
      for (const one of list ?? []) element.write(to, one)
    },
  }
}

function elementOf(type: Type, version: number, flexible: Versions, isNullable: boolean): Codec<unknown> {
  if (typeof type !== "string") {
    const struct = structOf(type, version, flexible) as Codec<unknown>
    return isNullable ? nullable(struct) : struct
  }
  const isFlexible = isIn(flexible, version)
  switch (type) {
    case "bool":
      return {
        read: (from) => from.int8() !== 0,
        write: (to, value) => to.int8(value === true ? 1 : 0),
      }
    case "string":
      return {
        read(from) {
          const bytes = takeBytes(from, isFlexible, 2, isNullable)
          return bytes && bytes.toString()
        },
        write: (to, value) =>
          putBytes(to, value === null ? null : Buffer.from(value as string), isFlexible, 2),
      }
    case "bytes":
    case "records":
      return {
        read: (from) => takeBytes(from, isFlexible, 4, isNullable),
        write(to, value) {
          const bytes = value as Uint8Array | null
          if (type === "records") to.allow(bytes?.length ?? 0)
          putBytes(to, bytes, isFlexible, 4)
        },
      }
    case "uuid":
      return { read: (from) => from.uuid(), write: (to, value) => to.uuid(value as string) }
    default:
      return {
        read: (from) => from[type](),
        write: (to, value) => to[type === "uint16" ? "int16" : type](value as number),
      }
  }
}

/** A struct after a byte that is negative where there is none. */
const nullable = (struct: Codec<unknown>): Codec<unknown> => ({
  read: (from) => (from.int8() < 0 ? null : struct.read(from)),
  write(to, value) {
    to.int8(value === null ? -1 : 1)
    if (value !== null) struct.write(to, value)
  },
})

function takeBytes(from: ByteReader, flexible: boolean, width: 2 | 4, isNullable: boolean): Buffer | null {
  const length = from.length(flexible, width)
  if (length >= 0) return from.take(length)
  return isNullable ? null : malformed()
}

function putBytes(to: ByteWriter, bytes: Uint8Array | null, flexible: boolean, width: 2 | 4): void {
  to.count(bytes === null ? -1 : bytes.length, flexible, width)
  if (bytes !== null) to.bytes(bytes)
}

function malformed(): never {
  throw new Malformed("null where a value is required")
}

function fallbackOf(field: Field): () => unknown {
  const { default: value } = field
  if (value !== undefined) return () => value
  if ("each" in field) return () => []
  const { is: type } = field
  if (typeof type !== "string") {
    const defaults = (): Struct =>
      Object.fromEntries(Object.entries(type).map(([name, one]) => [name, fallbackOf(one)()]))
    return defaults
  }
  return () => EMPTY[type]
}

const EMPTY: { readonly [type in keyof Scalars]: Scalars[type] | null } = {
  bool: false,
  int8: 0,
  int16: 0,
  uint16: 0,
  int32: 0,
  int64: 0,
  string: "",
  uuid: "AAAAAAAAAAAAAAAAAAAAAA",
  bytes: Buffer.alloc(0),
  records: null,
}
