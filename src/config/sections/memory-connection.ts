import { deliveryTimeout } from "./delivery-timeout.ts"
import { defineSection } from "../options/section.ts"

/** A log in this process's memory, for tests; registered in code only. */
export const MEMORY = defineSection({
  title: "Memory connection",
  aliases: [],
  summary: "Events are kept in memory until the process ends.",
  options: { delivery_timeout: deliveryTimeout },
})
