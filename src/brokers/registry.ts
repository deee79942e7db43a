import type { Connection, ConnectionKind } from "./define-connection.ts"
import { EMBEDDED } from "./embedded/kind.ts"
import { KAFKA } from "./kafka/kind.ts"
import { MEMORY } from "./memory/kind.ts"
import { POSTGRES } from "./postgres/kind.ts"

const KINDS = [KAFKA, EMBEDDED, POSTGRES, MEMORY] as const

export type ConnectionKindName = (typeof KINDS)[number]["name"]

/** Every kind of connection, in the order of the reference. */
export const connectionKinds: readonly ConnectionKind[] = KINDS

export const connectionKindNames = KINDS.map(({ name }) => name)

/** The kinds that a file's section can be of. */
export const fileKinds = connectionKinds.filter(({ key }) => key !== undefined)

export const kindNamed = (name: ConnectionKindName): ConnectionKind =>
  connectionKinds.find((kind) => kind.name === name)!

/** Whether two connections lead to the same log, as their options say; false: perhaps. */
export const isSameByOptions = (a: Connection, b: Connection): boolean =>
  a === b || (a.kind === b.kind && a.kind.isSameLog?.(a.values, b.values) === true)
