import type { Steps } from "../../clock/slices.ts"
import type { Place, Problems } from "../../config/file/problems.ts"
import type { Resolved } from "../../config/options/resolve.ts"
import type { ADMIN } from "../../config/sections/admin.ts"
import { hostKey, type EndpointOptions } from "../../config/sections/endpoint.ts"
import type { Connections } from "./connection-of.ts"
import { overlap } from "./listener-conflicts.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"

/** Checks that no listener for Kafka clients has the port of another listener. */
export function* checkKafkaListeners(
  pipelines: readonly ResolvedPipeline[],
  connections: Connections,
  admin: Resolved<(typeof ADMIN)["options"]>,
  problems: Problems,
): Steps<void> {
  type Listening = EndpointOptions & { readonly title: string; readonly place: Place }
  const others: Listening[] = pipelines.flatMap(({ id, source }) => {
    if (source === undefined) return []
    const { host, port } = source.values as unknown as EndpointOptions
    return { host, port, title: `pipeline ${JSON.stringify(id)}`, place: source.where("port") }
  })
  const { listen: adminListen } = admin.values
  if (adminListen !== undefined && adminListen !== "off")
    others.push({ ...adminListen, title: "the admin listener", place: admin.where("listen") })
  for (const [id, { kind, values, where }] of connections) {
    yield
    for (const { key, listen } of kind?.addresses?.(values) ?? []) {
      if (listen.port === 0) continue
      const overlaps = ({ host, port }: Listening): boolean =>
        port === listen.port && overlap(hostKey(String(host)), hostKey(listen.host))
      const other = others.find(overlaps)
      const place = where(key)
      if (other !== undefined)
        problems.add(place, `is the port of ${other.title} (${problems.locate(other.place)}); choose another`)
      others.push({ ...listen, title: `connection ${id}`, place })
    }
  }
}
