import type { PostgresLink } from "../../postgres/link.ts"
import { quoted } from "../../postgres/migrations.ts"
import { counted } from "../../words.ts"

/** A partition, as messages name it. */
interface Named {
  readonly topic: string
  readonly number: number
}

/** Events of a partition that were acknowledged and are gone. */
interface LostEvents extends Named {
  /** The first offset that is missing. */
  readonly first: number
  /** The offset after the last one. */
  readonly end: number
}

/**
 * The ends of partitions as they were acknowledged by this process, by their ids. A server that has less has lost events: an
 * asynchronous standby took over, or an older copy was restored.
 */
export class AcknowledgedEnds {
  readonly #ends = new Map<number, Named & { end: number }>()
  readonly #statement: string

  constructor(schema: string) {
    const name = quoted(schema)
    this.#statement = `SELECT p.id, greatest(p.first_offset, coalesce((SELECT max(r."offset") + 1 FROM ${name}.records r WHERE r.partition = p.id), 0))::float8 AS end
      FROM ${name}.partitions p`
  }

  /** Notes that all before an offset are acknowledged. */
  acknowledged(id: number, end: number, named: () => Named): void {
    const known = this.#ends.get(id)
    if (known === undefined) this.#ends.set(id, { ...named(), end })
    else if (end > known.end) known.end = end
  }

  /** Compares them with the server, and goes on with what that has. @throws what `PostgresLink.run` throws */
  async lostOn(link: PostgresLink): Promise<readonly LostEvents[]> {
    if (this.#ends.size === 0) return []
    const { rows } = await link.run<{ id: number; end: number }>(this.#statement)
    const now = new Map(rows.map(({ id, end }) => [id, end]))
    const lost: LostEvents[] = []
    for (const [id, { topic, number, end }] of this.#ends) {
      const first = now.get(id) ?? 0
      if (first < end) lost.push({ topic, number, first, end })
    }
    // they are told once, and ids may be others' now
    if (lost.length > 0) this.#ends.clear()
    return lost
  }
}

/** `12 events of hooks, partition 0, from offset 40 on` */
export const describeLost = ({ topic, number, first, end }: LostEvents): string =>
  `${counted(end - first, "event")} of ${topic}, partition ${number}, from offset ${first} on`
