import type { AdminServer, openAdmin } from "../admin/server.ts"
import type { Service } from "../admin/service.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import { ADMIN, tokenDoubt } from "../config/sections/admin.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/**
 * Loads the code of the admin listener for a plan that has one; undefined: it has none.
 * Loaded later, at a request, it would be missing when descriptors have run out, which is when it is needed.
 */
export async function loadAdmin({ admin }: Plan): Promise<typeof openAdmin | undefined> {
  return admin.listen === "off" ? undefined : (await import("../admin/server.ts")).openAdmin
}

/** Opens the plan's admin listener, or keeps the open one. @throws HooklineError `listen` */
export function acquireAdmin(
  { admin }: Plan,
  open: typeof openAdmin | undefined,
  transaction: Transaction,
  service: Service,
  log: Logger,
): AdminServer | undefined {
  const { listen, token, hosts } = admin
  if (listen === "off" || open === undefined) return undefined
  const server = transaction.acquire({
    name: "admin listener",
    config: reopenConfig(ADMIN, admin),
    open: () => {
      const opened = open(
        listen,
        { token, hosts },
        {
          service,
          log,
          failed: (err) => log.error({ err }, "unhandled error while answering an admin request"),
        },
      )
      transaction.onCommit(() => log.info({ url: opened.url }, "admin page, API and metrics listening"))
      return opened
    },
    close: (it) => it.close(),
  })
  transaction.onCommit(() => {
    server.setAccess({ token, hosts })
    const doubt = tokenDoubt(token)
    if (doubt !== undefined) log.warn(`[admin] token ${doubt}`)
  })
  return server
}
