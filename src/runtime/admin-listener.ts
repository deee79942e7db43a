import { clientTls } from "../admin/client-tls.ts"
import { AuditTopic } from "../admin/audit.ts"
import type { AdminServer, openAdmin } from "../admin/server.ts"
import type { Sampler } from "../admin/sampler.ts"
import type { Service } from "../admin/service.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import { ADMIN, tokenDoubts } from "../config/sections.ts"
import { parseTopicPlace } from "../config/declarations.ts"
import { readTls } from "../http/tls.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/**
 * Loads the code of the admin listener for a plan that has one; undefined: it has none.
 * Loaded later, at a request, it would be missing when descriptors have run out, which is when it is needed.
 */
export async function loadAdmin({ listen }: Plan["admin"]): Promise<typeof openAdmin | undefined> {
  return listen === "off" ? undefined : (await import("../admin/server.ts")).openAdmin
}

/** Opens the plan's admin listener, or keeps the open one. @throws HooklineError `listen`, OptionError `config` */
export function acquireAdmin(
  plan: Plan,
  open: typeof openAdmin | undefined,
  transaction: Transaction,
  { service, sampler, log }: { readonly service: Service; readonly sampler: Sampler; readonly log: Logger },
): AdminServer | undefined {
  const { admin } = plan
  const { listen, token, read_token: readToken, hosts } = admin
  if (listen === "off" || open === undefined) return undefined
  const tls = readTls(admin)
  const auditTopic = acquireAuditTopic(plan, transaction, service, log)
  const { replicas: places, replicas_token: replicasToken, tls_certificate: certificateFile } = admin
  const replicas = places && {
    places,
    token: replicasToken!,
    tls: certificateFile === undefined ? undefined : clientTls(certificateFile),
  }
  const settings = { token, readToken, replicasToken, hosts, auditTopic, replicas }
  const server = transaction.acquire({
    name: "admin listener",
    config: reopenConfig(ADMIN, admin),
    open: () => {
      const failed = (err: unknown): void =>
        log.error({ err }, "unhandled error while answering an admin request")
      const opened = open(listen, tls, settings, { service, sampler, log, failed })
      transaction.onCommit(() => log.info({ url: opened.url }, "admin page, API and metrics listening"))
      return opened
    },
    close: (it) => it.close(),
  })
  const certificate = server.prepare(tls)
  transaction.onAbort(certificate.abort)
  transaction.onCommit(() => {
    certificate.takeOver()
    server.set(settings)
    for (const [key, doubt] of tokenDoubts(admin)) log.warn(`[admin] ${key} ${doubt}`)
  })
  return server
}

function acquireAuditTopic(
  { admin, connections }: Plan,
  transaction: Transaction,
  service: Service,
  log: Logger,
): AuditTopic | undefined {
  if (admin.audit_topic === undefined) return undefined
  const place = parseTopicPlace(admin.audit_topic)
  const { kind, values } = connections.get(place.connection)!
  return transaction.acquire({
    name: "audit topic",
    config: [place, kind, reopenConfig(kind, values)],
    open: () => new AuditTopic(place, service, log),
    close: (it) => it.close(),
  })
}
