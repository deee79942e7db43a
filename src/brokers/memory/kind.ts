import { custom, WrongValue } from "../../config/options/option-types.ts"
import { defineConnection, deliveryTimeout } from "../define-connection.ts"
import { MemoryLog } from "./log.ts"

/** A log in this process's memory, for tests. The caller's: it stays open when the application stops. */
export const MEMORY = defineConnection({
  name: "memory",
  title: "Memory connection",
  aliases: [],
  summary: "Events are kept in memory until the process ends.",
  adjective: "memory",
  noun: "a log in memory",
  messagingSystem: "hookline",
  hasOneWriter: true,
  isInMemory: true,
  options: {
    delivery_timeout: deliveryTimeout,
    log: custom<MemoryLog, { doc: string }>(
      "a log in memory",
      { doc: "Set by memoryConnection." },
      () => {
        throw new WrongValue("is an option of code only")
      },
      (log) => log,
    ),
  },
  describe: () => ({ address: "memory", place: "memory", ofTopic: "in memory" }),
  acquire: ({ values: { log } }) => ({ broker: log, instance: log }),
  open: ({ log }) => log,
  openReader: ({ log }) => log,
})
