import type { Plan } from "./plan.ts"

/** The ports that a plan listens on. */
export function portsOf({ pipelines, connections, admin }: Plan): Set<number> {
  const ports = pipelines.map(({ source }) => (source.values as { port: number }).port)
  const logs = [...connections.values()].flatMap(({ kind, values }) => kind.addresses?.(values) ?? [])
  const others = admin.listen === "off" ? [] : [admin.listen.port]
  return new Set([...ports, ...others, ...logs.map(({ listen }) => listen.port)])
}
