import { openAdmin, type Status } from "./admin/server.ts"
import type { Changeover } from "./holdings.ts"
import type { Plan } from "./plan.ts"
import type { Logger } from "./telemetry/log.ts"

/**
 * Opens the admin listener that a plan names, or keeps it as it is.
 *
 * @returns to be called when the change is sure
 * @throws HooklineError `listen`
 */
export function holdAdmin(
  { admin: { listen, token, hosts } }: Plan,
  changeover: Changeover,
  status: Status,
  log: Logger,
): () => void {
  if (listen === "off") return () => {}
  let isNew = false
  const admin = changeover.hold({
    name: "admin listener",
    wants: listen,
    open: () => {
      isNew = true
      return openAdmin(listen, { token, hosts }, status)
    },
    close: (it) => it.close(),
  })
  return () => {
    admin.setAccess({ token, hosts })
    if (isNew) log.info({ url: admin.url }, "admin listening")
  }
}
