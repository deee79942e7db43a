import type { SetBack } from "./groups/groups.ts"
import type { GroupChanges, RetentionLimits, UnreadRecords } from "./log.ts"
import type { PortOptions } from "./port.ts"

/** From the event loop to the listener's thread. */
export type ToThread =
  /** Comes first. @param counters the array of the event loop's SharedCounters */
  | { readonly kind: "start"; readonly directory: string; readonly counters: Int32Array<SharedArrayBuffer> }
  /** The log's file may be read, or must not be open. */
  | { readonly kind: "open" | "close" }
  | { readonly kind: "committed"; readonly topics: readonly string[] }
  | { readonly kind: "retain"; readonly retention: RetentionLimits }
  /** All groups and offsets that are stored. */
  | { readonly kind: "groups"; readonly state: GroupChanges }
  /** The answer to `write`. */
  | { readonly kind: "written"; readonly isWritten: boolean }
  | { readonly kind: "listen"; readonly id: number; readonly port: PortOptions }
  /** With the same address. */
  | { readonly kind: "change"; readonly id: number; readonly port: PortOptions }
  | { readonly kind: "unlisten"; readonly id: number }
  | { readonly kind: "end" }

/** From the listener's thread to the event loop. */
export type FromThread =
  | { readonly kind: "listening"; readonly id: number; readonly port: number }
  | { readonly kind: "not_listening"; readonly id: number; readonly code: string; readonly message: string }
  | { readonly kind: "write"; readonly changes: GroupChanges }
  /** Some were stored: they are deleted. */
  | { readonly kind: "groups_of_another_log" }
  | { readonly kind: "offsets_set_back"; readonly setBack: readonly SetBack[] }
  /** Groups were deleted, with their offsets, for their age. */
  | { readonly kind: "groups_expired"; readonly groups: readonly string[] }
  /** A client asked for these records, which can't be read. */
  | { readonly kind: "damaged"; readonly records: UnreadRecords }
  | { readonly kind: "fault"; readonly error: unknown }
  | { readonly kind: "refused"; readonly reason: string; readonly client: string }
  | { readonly kind: "ended" }
