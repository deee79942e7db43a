import type { StoredRecord } from "../../../src/brokers/broker.ts"
import type { PublishError } from "../../../src/errors.ts"
import type { Receipt, Record } from "../../../src/pipeline/record.ts"
import type { World } from "../world.ts"

/** Values are JSON that begin with the number of the publication. */
const BEGIN = '{"id":'

/** What a log keeps, and how much later its records may be deleted. */
export interface Retention {
  readonly ms?: number | undefined
  readonly bytes?: number | undefined
  readonly lateMs: number
}

/** Times of a log are in whole milliseconds. */
const CLOCK_MS = 2

/** A record that was published, and what came of it. */
export interface Publication {
  readonly id: number
  readonly record: Record
  /** undefined: it has none. */
  readonly key: string | undefined
  receipt?: Receipt
  /** Milliseconds since the world began: it was committed between the two. */
  readonly sentMs: number
  acknowledgedMs?: number
  /** Its file was taken away. */
  mayBeLost?: boolean
}

/** Every record that a run published, for comparison with what is stored. */
export class Publications {
  readonly all: Publication[] = []
  readonly #world: World
  /** The records that each process has acknowledged, by their places. */
  readonly #offsetsOf = new WeakMap<object, Map<string, number>>()

  constructor(world: World) {
    this.#world = world
  }

  /** @param keyNumber -1: none @param bytes of the value, and some more */
  add(topic: string, keyNumber: number, bytes: number, timeoutMs: number): Publication {
    const key = keyNumber < 0 ? undefined : `key-${keyNumber}`
    const id = this.all.length
    const rest = String.fromCharCode(97 + (id % 26)).repeat(bytes)
    const value = Buffer.from(`${BEGIN}${id},"k":"${key ?? ""}","v":"${rest}"}`)
    const sentMs = this.#world.nowMs
    const one = {
      id,
      key,
      sentMs,
      record: { topic, value, ...(key !== undefined && { key: Buffer.from(key) }) },
    }
    this.all.push(one)
    this.#world.tell("sender", `${id} to ${topic}, ${key ?? "no key"}, ${bytes} bytes, ${timeoutMs} ms`)
    return one
  }

  /** @param process the one that has acknowledged it, which gives no offset twice */
  acknowledged(one: Publication, receipt: Receipt, process?: object): void {
    if (process !== undefined) this.#checkOffset(one, receipt, process)
    one.receipt = receipt
    one.acknowledgedMs = this.#world.nowMs
    this.#world.tell("sender", `${one.id} acknowledged at ${receipt.partition}/${receipt.offset}`)
  }

  #checkOffset(
    { id, record: { topic } }: Publication,
    { partition, offset }: Receipt,
    process: object,
  ): void {
    const given = this.#offsetsOf.get(process) ?? new Map<string, number>()
    this.#offsetsOf.set(process, given)
    const place = `${topic}/${partition}/${offset}`
    const before = given.get(place)
    if (before !== undefined)
      this.#world.violate(`record ${id} is acknowledged at ${place}, as ${before} was by the same process`)
    given.set(place, id)
  }

  /**
   * The files were taken away, or replaced by earlier ones: what was published until now may be lost.
   *
   * @returns to be called when they are put back, in the place of those that were made meanwhile
   */
  filesTaken(): () => void {
    const before = this.all.filter(({ mayBeLost }) => mayBeLost !== true)
    const count = this.all.length
    for (const one of before) one.mayBeLost = true
    return () => {
      for (const one of before) one.mayBeLost = false
      for (const one of this.all.slice(count)) one.mayBeLost = true
    }
  }

  refused({ id }: Publication, { code, message }: PublishError): void {
    this.#world.tell("sender", `${id} refused: ${code}, ${message.replaceAll(/\/\S*\//g, "")}`)
  }

  /** The publication of a stored record, whose bytes it has. */
  of(stored: Pick<Record, "topic" | "value">, when: string): Publication | undefined {
    const number = Buffer.from(stored.value.subarray(BEGIN.length, BEGIN.length + 12)).toString()
    const one = this.all[Number.parseInt(number, 10)]
    if (one?.record.topic === stored.topic && Buffer.compare(one.record.value, stored.value) === 0) return one
    this.#world.violate(`${when}: a record in ${stored.topic} is not what was published as ${one?.id}`)
    return undefined
  }

  /**
   * Compares with what a log holds: every acknowledged record, but for those that retention has deleted, at its offset, with
   * its bytes; none twice; in the order of publication for each key.
   */
  checkLog(stored: readonly StoredRecord[], when: string, retention?: Retention): void {
    const found = new Map<number, StoredRecord>()
    for (const record of stored) {
      const one = this.of(record, when)
      if (one === undefined) continue
      if (found.has(one.id)) this.#world.violate(`${when}: record ${one.id} is there twice`)
      found.set(one.id, record)
    }
    this.checkOrder(stored, when)
    if (retention !== undefined) this.#checkRetention(found, when, retention)
    for (const { id, receipt, mayBeLost = false } of this.all) {
      if (receipt === undefined) continue
      const there = found.get(id)
      if (there === undefined && (mayBeLost || retention !== undefined)) continue
      if (there === undefined) this.#world.violate(`${when}: record ${id} was acknowledged and is not there`)
      else if (there.offset !== receipt.offset || there.partition !== receipt.partition)
        this.#world.violate(
          `${when}: record ${id} is at ${there.partition}/${there.offset}, not where its receipt says`,
        )
    }
  }

  /** None is deleted before its time or before an older one, and none is kept longer. */
  #checkRetention(
    found: ReadonlyMap<number, StoredRecord>,
    when: string,
    { ms = Number.POSITIVE_INFINITY, bytes, lateMs }: Retention,
  ): void {
    const { nowMs } = this.#world
    const isKept = ({ id }: Publication): boolean => found.has(id)
    const known = this.all.filter(
      (one): one is Publication & { acknowledgedMs: number } =>
        one.acknowledgedMs !== undefined && one.mayBeLost !== true,
    )
    const oldestMs = Math.min(...known.filter(isKept).map((one) => one.acknowledgedMs))
    for (const one of known) {
      const { id, sentMs, acknowledgedMs } = one
      if (isKept(one)) {
        if (nowMs - acknowledgedMs > ms + lateMs)
          this.#world.violate(`${when}: record ${id} is kept for longer than retention`)
      } else if (bytes === undefined && nowMs - sentMs < ms - CLOCK_MS)
        this.#world.violate(`${when}: record ${id} was deleted before its time`)
      else if (sentMs > oldestMs + CLOCK_MS)
        this.#world.violate(`${when}: record ${id} was deleted before an older one`)
    }
  }

  /** The first copies of the records of a key are in the order of publication. */
  checkOrder(stored: readonly Pick<Record, "topic" | "value">[], when: string): void {
    const last = new Map<string, number>()
    const seen = new Set<number>()
    for (const record of stored) {
      const one = this.of(record, when)
      if (one?.key === undefined || seen.has(one.id)) continue
      seen.add(one.id)
      const before = last.get(`${record.topic} ${one.key}`)
      if (before !== undefined && before > one.id)
        this.#world.violate(`${when}: record ${one.id} is behind ${before} of the same key`)
      last.set(`${record.topic} ${one.key}`, one.id)
    }
  }
}
