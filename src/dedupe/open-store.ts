import type { ResourceSpec } from "../pipeline/resource.ts"
import type { Logger } from "../telemetry/log.ts"
import { SqliteKeys } from "./sqlite-keys.ts"
import { nameOf, type Location } from "./location.ts"
import type { KeyStore } from "./key-store.ts"
import { DedupeKeys } from "./dedupe-keys.ts"
import { openMemoryKeys } from "./memory-keys.ts"
import { RedisKeys } from "./redis-keys.ts"

/** The dedupe keys at a location, one instance for all pipelines. `open` throws HooklineError `log_locked`, `log_io`. */
export function dedupeKeysSpec(location: Location, log: Logger): ResourceSpec<DedupeKeys> {
  const store = nameOf(location)
  // the URL may hold a password, and a name is printed
  const unique =
    location.kind === "redis" ? `${store} ${Bun.hash(`${location.url} ${location.ca}`).toString(36)}` : store
  return {
    name: `dedupe keys in ${unique}`,
    config: location,
    open: () => new DedupeKeys(openStore(location, log.child({ store }))),
    close: (keys) => keys.close(),
  }
}

function openStore(location: Location, log: Logger): KeyStore {
  switch (location.kind) {
    case "memory":
      return openMemoryKeys({ log })
    case "embedded":
      return new SqliteKeys(location.directory, { log })
    case "redis":
      return new RedisKeys(location, { log })
  }
}
