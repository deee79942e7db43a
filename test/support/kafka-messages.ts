import type { ByteReader } from "../../src/kafka-protocol/byte-reader.ts"
import type { ByteWriter } from "../../src/kafka-protocol/byte-writer.ts"
import { isIn, structOf, type Api } from "../../src/kafka-protocol/fields.ts"

type Table = Api["request"]

type Struct = { readonly [name: string]: unknown }

/** As clients write it. */
export const writeRequest = (api: Api, version: number, request: Struct, to: ByteWriter): void =>
  structOf(api.request, version, api.flexible).write(to, request)

/** @throws Malformed */
export const readResponse = (api: Api, version: number, from: ByteReader): Struct =>
  structOf(api.response, version, api.flexible).read(from)

let seed = 1
/** A whole number from 0, the same in each run. */
export const random = (below: number): number => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed % below
}

/** Some value of each field that a version has. */
export function someOf(table: Table, version: number): { [name: string]: unknown } {
  const entries = Object.entries(table).flatMap(([name, field]) => {
    if (!isIn(field.in, version)) return []
    if (field.nullable !== undefined && isIn(field.nullable, version) && random(3) === 0)
      return [[name, null] as const]
    if ("each" in field)
      return [[name, [valueOf(field.each, version), valueOf(field.each, version)]] as const]
    return [[name, valueOf(field.is, version)] as const]
  })
  return Object.fromEntries(entries)
}

function valueOf(type: Extract<Table[string], { is: unknown }>["is"], version: number): unknown {
  switch (type) {
    case "bool":
      return random(2) === 1
    case "int8":
      return random(255) - 127
    case "int16":
      return random(65_535) - 32_767
    case "uint16":
      return random(65_535)
    case "int32":
      return random(2 ** 31) * (random(2) * 2 - 1)
    case "int64":
      return random(2 ** 31) * random(2 ** 21) * (random(2) * 2 - 1)
    case "string":
      return "é".repeat(random(200))
    case "uuid":
      return Buffer.from(Array.from({ length: 16 }, () => random(256))).toString("base64url")
    case "bytes":
    case "records":
      return Buffer.alloc(random(300), random(256))
    default:
      return someOf(type, version)
  }
}
