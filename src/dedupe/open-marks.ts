import type { Wanted } from "../holdings.ts"
import type { Logger } from "../telemetry/log.ts"
import { openEmbeddedMarks } from "./embedded-marks.ts"
import { nameOf, type Location } from "./location.ts"
import type { MarkStore } from "./mark-store.ts"
import { Marks } from "./marks.ts"
import { openMemoryMarks } from "./memory-marks.ts"
import { openRedisMarks } from "./redis-marks.ts"

/**
 * The marks at a location, of which there is one instance, for all pipelines that name it.
 *
 * @returns what opens them; that throws HooklineError `log_locked`, `log_io`
 */
export function wantedMarks(location: Location, log: Logger): Wanted<Marks> {
  const store = nameOf(location)
  // the URL may hold a password, and a name is printed
  const place =
    location.kind === "redis" ? `${store} ${Bun.hash(`${location.url} ${location.ca}`).toString(36)}` : store
  return {
    name: `marks in ${place}`,
    wants: location,
    open: () => new Marks(openStore(location, log.child({ store }))),
    close: (marks) => marks.close(),
  }
}

function openStore(location: Location, log: Logger): MarkStore {
  switch (location.kind) {
    case "memory":
      return openMemoryMarks({ log })
    case "embedded":
      return openEmbeddedMarks(location.directory, { log })
    case "redis":
      return openRedisMarks(location, { log })
  }
}
