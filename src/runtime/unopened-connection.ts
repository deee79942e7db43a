import type { Broker } from "../brokers/broker.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "../config/sections/delivery-timeout.ts"
import type { OpenConnection } from "./connections.ts"

/** A connection of which nothing is open. */
export function unopenedConnection(
  deliveryTimeoutMs = DEFAULT_DELIVERY_TIMEOUT_MS,
  prepare: Broker["prepare"] = () => {},
): OpenConnection {
  const broker: Broker = Object.assign(new MemoryLog(), { prepare })
  return { broker, instance: broker, kind: "memory", deliveryTimeoutMs }
}
