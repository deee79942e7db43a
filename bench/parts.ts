import type { Case } from "./measure.ts"

/** Targets that are measured in turn under the same cases, each started once a round. */
export interface Part {
  readonly name: string
  readonly title: string
  readonly targets: readonly string[]
  readonly cases: readonly Case[]
}

/** A closed loop of so many connections. */
export const closed = (connections: number, body: Case["body"] = "1.1 KB"): Case => {
  return { name: `${connections} connections, ${body}`, arrivals: { connections }, body }
}
const open = (rate: number): Case => ({ name: `${rate}/s`, arrivals: { rate }, body: "1.1 KB" })

const RECEIVERS = ["hookline", "go", "connect", "fastify", "bitswan"]

/** Whatever `npm run bench:peers` measures beside the soak. Peers are in the parts where they can be compared. */
export const parts: readonly Part[] = [
  {
    name: "closed",
    title: "Closed loop",
    targets: ["bare", "hookline", "hookline-hmac", "go", "connect", "fastify", "bitswan", "bitswan-queued"],
    cases: [closed(64), closed(512)],
  },
  {
    name: "open",
    title: "Open loop",
    targets: ["producer", "hookline", "hookline-hmac", "go", "connect", "fastify", "bitswan"],
    cases: [open(2000), open(5000), open(10_000)],
  },
  {
    name: "bodies",
    title: "Sizes of bodies",
    targets: RECEIVERS,
    cases: [closed(64, "200 B"), closed(64, "16 KB"), closed(64, "256 KB")],
  },
  {
    name: "hmac",
    title: "With HMAC-SHA256 of the body",
    targets: RECEIVERS.map((name) => `${name}-hmac`),
    cases: [closed(64)],
  },
  {
    name: "pipelines",
    title: "One pipeline and 500",
    targets: ["hookline-one", "hookline-500"],
    cases: [closed(64)],
  },
  {
    name: "embedded",
    title: "The embedded log",
    targets: ["bare", "embedded", "embedded-hmac"],
    cases: [closed(64), closed(512)],
  },
]
