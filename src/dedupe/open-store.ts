import type { ResourceSpec } from "../pipeline/resource.ts"
import type { Logger } from "../telemetry/log.ts"
import type { WriterDependencies } from "../storage/durable-writer.ts"
import { UNOPENED } from "../storage/writer-lock.ts"
import { SqliteKeys } from "./sqlite-keys.ts"
import type { Location } from "./location.ts"
import type { KeyStore } from "./key-store.ts"
import { DedupeKeys } from "./dedupe-keys.ts"
import { MemoryKeys } from "./memory-keys.ts"
import { RedisKeys } from "./redis-keys.ts"

/** The dedupe keys at a location, one instance for all pipelines. `open` throws HooklineError `log_locked`, `log_io`. */
export function dedupeKeysSpec(location: Location, log: Logger): ResourceSpec<DedupeKeys> {
  const { name: store } = location
  // the URL may hold a password, and a name is printed
  const unique =
    location.kind === "redis" ? `${store} ${Bun.hash(`${location.url} ${location.ca}`).toString(36)}` : store
  return {
    name: `dedupe keys in ${unique}`,
    config: location,
    open: (unopened) => new DedupeKeys(openStore(location, { log: log.child({ store }), unopened })),
    retries: UNOPENED,
    close: (keys) => keys.store.close(),
  }
}

function openStore(location: Location, deps: Pick<WriterDependencies, "log" | "unopened">): KeyStore {
  switch (location.kind) {
    case "memory":
      return new MemoryKeys(deps)
    case "embedded":
      return new SqliteKeys(location.directory, deps)
    case "redis":
      return new RedisKeys(location, deps)
  }
}
