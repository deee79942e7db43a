import { join } from "node:path"
import { FileStore } from "../admin/store/file-store.ts"
import { RedisStore } from "../admin/store/redis-store.ts"
import type { ServiceStore } from "../admin/store/service-store.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"
import { redisOf } from "./plan/redis.ts"
import type { PlanTransaction } from "./plan-transaction.ts"

/** The folder of what the service keeps besides logs: `.hookline` next to the configuration file. */
export const serviceFolder = (baseDir: string): string => join(baseDir, ".hookline")

/** Opens the store of the service, or keeps it. @param process the id of this one */
export function acquireServiceStore(
  { service, baseDir }: Pick<Plan, "service" | "baseDir">,
  transaction: Pick<PlanTransaction, "acquire">,
  process: string,
  log: Logger,
): ServiceStore {
  const redis = redisOf(service)
  const folder = serviceFolder(baseDir)
  return transaction.acquire<ServiceStore>({
    name: "service store",
    config: redis === undefined ? [folder] : [redis.url, redis.ca],
    open: () => (redis === undefined ? new FileStore(folder, log) : new RedisStore(process, redis)),
    close: (it) => it.close(),
  })
}
