import type { Plan } from "./plan.ts"

/** The ports that a plan listens on. */
export function portsOf({ pipelines, connections, admin }: Plan): Set<number> {
  const ports = pipelines.map(({ source }) => (source.values as { port: number }).port)
  const kafka = [...connections.values()].map((it) =>
    it.kind === "embedded" ? it.values.kafka_listen : "off",
  )
  const others = [admin.listen, ...kafka].flatMap((listen) => (listen === "off" ? [] : listen.port))
  return new Set([...ports, ...others])
}
