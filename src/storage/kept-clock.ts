import type { Database } from "bun:sqlite"
import { crc32 } from "node:zlib"
import { MachineClock, type ClockReading, type MachineTime } from "../clock/machine-clock.ts"
import { unlessDamaged } from "./damage.ts"

/*
 * The clock of a database, by which what it keeps gets older, in a table of its file:
 *
 *   clock
 *   began    boot    uptime    now    crc
 *   1795…    3f2c…   81200340  1795…  -53…
 *
 * - It goes on with the machine's uptime (clock/machine-clock.ts), whichever process has the file open, or none: setting the
 *   time of day makes nothing older, neither while the process runs nor over its restarts. `now` was its time at `uptime` of
 *   the start `boot`.
 * - After another start of the machine, or on another machine, it goes on from the `now` that was saved: the time that the
 *   machine was off does not count, nor do up to SAVE_MS before, nor what passes until the file is opened.
 * - It `began` at the time of day, so that it can be compared with what earlier versions have written. Milliseconds.
 * - `crc` is the CRC-32 of the columns before it, with spaces between: what damage made of the row is no time.
 */
interface ClockRow extends ClockReading {
  readonly began: number
}

const SAVE_MS = 600_000

export class KeptClock {
  readonly #db: Database
  readonly #machine: MachineTime
  /** When the file began to have a clock. */
  readonly beganMs: number
  #nowMs: number
  #uptimeMs: number
  #savedMs: number

  /** @param db with a clock as `createClock` has it go on for this start of the machine */
  constructor(db: Database, machine: MachineTime = new MachineClock()) {
    this.#db = db
    this.#machine = machine
    const row = savedIn(db)!
    this.beganMs = row.began
    this.#nowMs = this.#savedMs = row.now
    this.#uptimeMs = row.uptime
  }

  /** Its time, in whole milliseconds; never less than before. */
  now(): number {
    const uptimeMs = this.#machine.now()
    this.#nowMs += Math.max(0, uptimeMs - this.#uptimeMs)
    this.#uptimeMs = uptimeMs
    return Math.floor(this.#nowMs)
  }

  /** Something in the file was written at that time, after the last one that was saved. */
  catchUp(ms: number): void {
    this.#nowMs = Math.max(this.now(), ms)
  }

  get reading(): ClockReading {
    return { boot: this.#machine.boot, now: this.now(), uptime: this.#uptimeMs }
  }

  get isDue(): boolean {
    return this.now() - this.#savedMs >= SAVE_MS
  }

  /** Saves it within a transaction, if that is due. */
  save(): void {
    if (!this.isDue) return
    saveClock(this.#db, { began: this.beganMs, ...this.reading })
    this.#savedMs = this.#nowMs
  }
}

/**
 * Creates a database's clock within a transaction, or has it go on after another start of the machine.
 *
 * @param beginsMs its first time
 */
export function createClock(
  db: Database,
  beginsMs: () => number,
  machine: MachineTime = new MachineClock(),
): void {
  db.run(
    `CREATE TABLE IF NOT EXISTS clock (
      began INTEGER NOT NULL,
      boot TEXT NOT NULL,
      uptime INTEGER NOT NULL,
      now INTEGER NOT NULL,
      crc INTEGER NOT NULL
    ) STRICT`,
  )
  const row = savedIn(db)
  const { boot } = machine
  const uptime = machine.now()
  if (row === undefined) {
    const began = Math.floor(beginsMs())
    saveClock(db, { began, boot, uptime, now: began })
  } else if (row.boot !== boot || row.uptime > uptime) saveClock(db, { ...row, boot, uptime })
}

const checksumOf = ({ began, boot, uptime, now }: ClockRow): number =>
  crc32(`${began} ${boot} ${uptime} ${now}`) | 0

/** undefined: there is none, or damage has made something else of it. */
function savedIn(db: Database): ClockRow | undefined {
  const row = unlessDamaged(db, () => db.query<ClockRow & { crc: number }, []>("SELECT * FROM clock").get())
  return row !== null && row !== undefined && row.crc === checksumOf(row) ? row : undefined
}

function saveClock(db: Database, { began, boot, uptime, now }: ClockRow): void {
  const row = { began, boot, uptime: Math.floor(uptime), now: Math.floor(now) }
  db.run("DELETE FROM clock")
  db.query("INSERT INTO clock VALUES (?, ?, ?, ?, ?)").run(
    row.began,
    row.boot,
    row.uptime,
    row.now,
    checksumOf(row),
  )
}
