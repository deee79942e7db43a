import { LOG_FORMATS, LOG_LEVELS } from "../telemetry/log.ts"
import { duration, integer, oneOf, size } from "./options.ts"
import { defineSection } from "./section.ts"

const HOUR_MS = 3_600_000

/** What holds for the whole process. */
export const SERVICE = defineSection({
  title: "service",
  aliases: [],
  summary: "What holds for the whole process.",
  options: {
    workers: integer({
      min: 1,
      max: 64,
      default: "1",
      doc: "How many processes take webhooks, on the same ports; see workers.md. A change takes a restart.",
    }),
    max_in_flight_bytes: size({
      min: 1,
      default: "64MiB",
      doc: "How many bytes of bodies may be held at once, over all pipelines; beyond it senders get 503, a second later. Bodies over 16 KiB take half of it at most while they are worked on, or one alone all of it.",
    }),
    max_connections: integer({
      min: 32,
      max: 10_000_000,
      optional: true,
      doc: "How many connections senders may have open; with more, none is accepted until a tenth of them have ended. Counted by open descriptors, on Linux, those to brokers and stores among them; with several workers each has its share, 32 at least. Without it, and at most, what the limit of descriptors (`ulimit -n`) leaves beside an eighth, 512 at most, for all else.",
    }),
    drain_timeout: duration({
      maxMs: HOUR_MS,
      default: "20s",
      doc: "How long a stop may take to finish what was accepted.",
    }),
    body_timeout: duration({
      minMs: 1,
      maxMs: HOUR_MS,
      default: "30s",
      doc: "How long a sender may take for a request's body, then 408.",
    }),
    stall_timeout: duration({
      minMs: 3000,
      maxMs: HOUR_MS,
      default: "10s",
      doc: "With several workers: how long one of them may stand still, not answering its supervisor, before it is killed and replaced; see workers.md.",
    }),
    log_level: oneOf(LOG_LEVELS, { default: "info", doc: "The least important lines that are logged." }),
    log_format: oneOf(LOG_FORMATS, {
      default: "auto",
      doc: "`auto` is pretty on a terminal and JSON lines elsewhere.",
    }),
  },
})
