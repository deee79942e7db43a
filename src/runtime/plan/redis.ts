import { readCas } from "../../process/pem-files.ts"
import { parseRedisUrl } from "../../addresses/redis-url.ts"
import type { RedisServer } from "../../dedupe/redis-client.ts"
import type { Plan } from "./draft.ts"

/** The Redis of `[service]`. @throws HooklineError `config` for its CAs */
export function redisOf({ redis: url, redis_ca: ca }: Plan["service"]): RedisServer | undefined {
  if (url === undefined) return undefined
  return { url, name: parseRedisUrl(url)!.name, ca: ca === undefined ? undefined : readCas("redis_ca", ca) }
}
