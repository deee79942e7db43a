import type { Broker } from "../brokers/broker.ts"
import type { OpenConnection } from "../open-connection.ts"
import type { Plan } from "../plan.ts"

/** The connections that one process alone can have open, for the files that they write. */
export const hostedOf = ({ connections }: Pick<Plan, "connections">): Plan["connections"] =>
  new Map([...connections].filter(([, it]) => it.kind === "embedded" || it.values.spool !== "off"))

/** The brokers that are open in the supervisor, by the numbers that workers know them by. */
export class HostedBrokers {
  #brokers: readonly (readonly [number: number, broker: Broker])[] = []
  #next = 1

  find(number: number): Broker | undefined {
    return this.#brokers.find(([it]) => it === number)?.[1]
  }

  /** Gives numbers to those that have none. @returns the number of each, by connection id */
  number(open: ReadonlyMap<string, OpenConnection>): ReadonlyMap<string, number> {
    const numbers = new Map<string, number>()
    for (const [id, { broker }] of open) {
      const known = this.#brokers.find(([, it]) => it === broker)
      if (known === undefined) this.#brokers = [...this.#brokers, [this.#next++, broker]]
      numbers.set(id, known?.[0] ?? this.#next - 1)
    }
    return numbers
  }

  /** Forgets all but these. */
  keep(open: ReadonlyMap<string, OpenConnection>): void {
    const kept = new Set([...open.values()].map(({ broker }) => broker))
    this.#brokers = this.#brokers.filter(([, broker]) => kept.has(broker))
  }
}
