import { Database } from "bun:sqlite"
import { createClock } from "../../src/storage/kept-clock.ts"

/** Has time pass by the clock of a database (storage/kept-clock.ts) that nobody has open. */
export function passTime(file: string, ms: number): void {
  using db = new Database(file)
  const { boot, uptime } = db.query<{ boot: string; uptime: number }, []>("SELECT * FROM clock").get()!
  createClock(db, () => 0, { boot, now: () => uptime - ms })
}

/** A machine whose time a test lets pass. */
export class TestMachine {
  boot = "one"
  ms = 5_000_000

  now(): number {
    return this.ms
  }

  /** It is started again. */
  restart(): void {
    this.boot += "+"
    this.ms = 1000
  }
}
