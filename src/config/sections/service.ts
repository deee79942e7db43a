import { message, setting, type Message } from "../../message.ts"
import { LOG_FORMATS, LOG_LEVELS } from "../../telemetry/log.ts"
import { isRedisUrl, isTls, REDIS_FORM } from "../../addresses/redis-url.ts"
import { duration, file, integer, oneOf, size, text } from "../options/option-types.ts"
import { defineSection } from "../options/section.ts"

const HOUR_MS = 3_600_000

export const SERVICE = defineSection({
  title: "service",
  aliases: [],
  summary: "Settings of the whole process.",
  options: {
    reuse_port: oneOf(["off", "on"], {
      default: "off",
      reload: "restart",
      doc: "Whether other instances on this machine, which `[admin] replicas` lists, listen on the pipelines' ports, too; see instances.md. On Linux; it takes Kafka without a spool. `off`: ports must be free.",
    }),
    max_in_flight_bytes: size({
      min: 1,
      optional: true,
      reload: "live",
      doc: "Bytes of bodies in memory at once, over all pipelines; beyond it senders get 503, after a second. Bodies over 16 KiB being processed take at most half of it; a single one may take all. Default: 64 MiB; less where a control group (a container's memory limit) allows less than 320 MiB: a quarter of what is above 64 MiB.",
    }),
    max_connections: integer({
      min: 32,
      max: 10_000_000,
      optional: true,
      reload: "live",
      doc: "Open connections; at the limit none is accepted until a tenth of them have ended. Counted by open descriptors, on Linux, including those to brokers and stores. Default and maximum: the descriptor limit (`ulimit -n`) less an eighth of it (at most 512) for everything else.",
    }),
    shutdown_delay: duration({
      maxMs: HOUR_MS,
      default: "0s",
      reload: "live",
      doc: "How long a stop continues to accept events while `/readyz` answers 503, until load balancers that probe it stop sending; then it drains. See deploying.md.",
    }),
    drain_timeout: duration({
      maxMs: HOUR_MS,
      default: "20s",
      reload: "live",
      doc: "Time that a stop has to finish accepted events.",
    }),
    body_timeout: duration({
      minMs: 1,
      maxMs: HOUR_MS,
      default: "30s",
      reload: "live",
      doc: "How long a sender may take for a request's body; after that it gets 408.",
    }),
    redis: text({
      optional: true,
      secret: true,
      reload: "live",
      accepts: isRedisUrl,
      form: REDIS_FORM,
      doc: "A Redis in which replicas count `rate_limit` together and hold the replays that they run; see limits.md and replay.md. Default: each process counts its own events.",
    }),
    redis_ca: file({
      optional: true,
      needs: "redis",
      reload: "live",
      doc: "PEM file with the CAs that the certificate of a `rediss://` redis is checked against, instead of the public ones.",
    }),
    log_level: oneOf(LOG_LEVELS, {
      default: "info",
      reload: "live",
      doc: "The lowest level that is logged.",
    }),
    log_format: oneOf(LOG_FORMATS, {
      default: "auto",
      reload: "restart",
      doc: "`auto` is pretty on a terminal and JSON lines elsewhere.",
    }),
  },
  check({ values: { redis, reuse_port }, isGiven, wrong }) {
    if (reuse_port === "on" && process.platform !== "linux")
      wrong(
        "reuse_port",
        message`takes Linux, which spreads connections over the instances; elsewhere one of them gets all: set ${setting("reuse_port", "off")}`,
      )
    if (isGiven("redis_ca") && redis !== undefined && !isTls(redis))
      wrong(
        "redis_ca",
        "has no effect without a rediss:// redis; remove it, or reach the Redis by TLS",
        "conflicting_keys",
      )
  },
})

/** The problem with a key that `[service]` had before it had `reuse_port`; undefined: it had no such key. */
export function removedFromService(key: string): Message | undefined {
  if (key === "workers")
    return message`was removed: remove the line; several processes on one port are instances with ${setting("reuse_port", "on")}, see instances.md`
  if (key === "stall_timeout" || key === "stallTimeout")
    return "was removed with workers: remove the line; whatever starts an instance watches that it answers, see instances.md"
  return undefined
}
