import { openAdmin, type AdminServer } from "../admin/server.ts"
import type { Service } from "../admin/service.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import { ADMIN } from "../config/sections/admin.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/** Opens the plan's admin listener, or keeps the open one. @throws HooklineError `listen` */
export function acquireAdmin(
  { admin }: Plan,
  transaction: Transaction,
  service: Service,
  log: Logger,
): AdminServer | undefined {
  const { listen, token, hosts } = admin
  if (listen === "off") return undefined
  const server = transaction.acquire({
    name: "admin listener",
    config: reopenConfig(ADMIN, admin),
    open: () => {
      const opened = openAdmin(
        listen,
        { token, hosts },
        {
          service,
          failed: (err) => log.error({ err }, "unhandled error while answering an admin request"),
        },
      )
      transaction.onCommit(() => log.info({ url: opened.url }, "admin page, API and metrics listening"))
      return opened
    },
    close: (it) => it.close(),
  })
  transaction.onCommit(() => server.setAccess({ token, hosts }))
  return server
}
