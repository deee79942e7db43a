import { bare, hookline } from "./hookline.ts"
import { loneProducer } from "./producer.ts"
import { peer } from "./peer.ts"
import type { Target } from "./target.ts"

/** Whatever can be measured, in the order of the tables. */
export const targets: readonly Target[] = [
  bare,
  loneProducer,
  hookline({ log: "kafka" }),
  hookline({ name: "hookline-hmac", title: "Hookline, HMAC", log: "kafka", hmac: true }),
  hookline({ name: "hookline-one", title: "Hookline, one pipeline", log: "kafka", turns: 500 }),
  hookline({ name: "hookline-500", title: "Hookline, 500 pipelines", log: "kafka", pipelines: 500 }),
  hookline({ name: "embedded", title: "Hookline, embedded log", log: "embedded" }),
  hookline({ name: "embedded-hmac", title: "Hookline, embedded log, HMAC", log: "embedded", hmac: true }),
  ...[
    { name: "go", title: "Go, franz-go", folder: "franz-go" },
    { name: "connect", title: "Redpanda Connect", folder: "connect" },
    { name: "fastify", title: "Fastify, kafkajs", folder: "fastify" },
    { name: "bitswan", title: "BitSwan", folder: "bitswan" },
  ].flatMap((it) => [
    peer(it),
    peer({ ...it, name: `${it.name}-hmac`, title: `${it.title}, HMAC`, hmac: true }),
  ]),
  peer({
    name: "bitswan-queued",
    title: "BitSwan, answers unacknowledged",
    folder: "bitswan",
    waitsForAcknowledgement: false,
    env: { ANSWER: "queued" },
  }),
]

export const isHookline = ({ title }: Target): boolean => title.startsWith("Hookline")

/** @throws Error when there is no target of the name */
export function targetNamed(name: string): Target {
  const found = targets.find((one) => one.name === name)
  if (found === undefined) {
    throw new Error(`there is no target ${name}; there are ${targets.map((one) => one.name).join(", ")}`)
  }
  return found
}
