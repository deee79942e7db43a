import type { GroupChanges, RetentionLimits } from "./log.ts"
import type { PortOptions } from "./port.ts"

/** From the event loop to the listener's thread. */
export type ToThread =
  /** Comes first. */
  | {
      readonly kind: "start"
      readonly directory: string
      /** For log lines: those of the log and of groups, and what to do when the log is damaged. */
      readonly files: { readonly log: string; readonly groups: string; readonly remedy: string }
      /** The memory of the event loop's SharedCounters. */
      readonly counters: Int32Array<SharedArrayBuffer>
    }
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
  | {
      readonly kind: "log"
      readonly level: "info" | "warn" | "error"
      readonly fields: object
      readonly text: string
    }
  | { readonly kind: "refused"; readonly reason: string; readonly client: string }
  | { readonly kind: "ended" }
