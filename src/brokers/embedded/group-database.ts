import type { Database } from "bun:sqlite"
import { join } from "node:path"
import type { CommittedOffset, GroupChanges, GroupSnapshot } from "../../kafka-listener/log.ts"
import type { GroupOffsets } from "../broker.ts"
import { exists } from "../../process/paths.ts"
import { openForReading, type DatabaseLocation } from "../../storage/database-file.ts"
import { createClock, KeptClock } from "../../storage/kept-clock.ts"
import { DurableDatabase } from "../../storage/durable-database.ts"
import { readIdentity } from "./log-tables.ts"

/*
 * The file of consumer groups, `groups.sqlite` next to the log, in WAL mode with synchronous=FULL:
 *
 *   groups                      offsets
 *   group_id  state             group_id  topic     partition  committed
 *   billing   {"generation":…   billing   webhooks  0          {"offset":1310,…
 *
 * `state` is a GroupSnapshot and `committed` a CommittedOffset, as JSON, with bytes in base64. A third table, `identity`, has the
 * cluster id of the log that the offsets are of: a log that replaces it starts at offset 0 again. Groups get older by the clock
 * in `clock` (storage/kept-clock.ts).
 */
const PAGE_BYTES = 4096

export function groupsIn(directory: string): DatabaseLocation {
  return {
    file: join(directory, "groups.sqlite"),
    lockFile: join(directory, "groups.lock"),
    applicationId: 0x484b4752, // HKGR
    kind: "group store",
    title: `The consumer groups in ${directory}`,
    alternative: "another directory",
    remedy:
      "stop Hookline, then move it away, and consumers start as auto.offset.reset says, or restore a backup",
  }
}

const MOST_GROUPS = 1000

/** The groups of a log's Kafka clients, as they are on disk: none while the members of one change. @throws HooklineError `no_input` */
export function groupOffsets(directory: string): readonly GroupOffsets[] {
  const location = groupsIn(directory)
  if (!exists(location.file)) return []
  using db = openForReading(location)
  const rows = db
    .query<{ id: string; members: number; topic: string; partition: number; next: number }, [number]>(
      `SELECT group_id AS id, json_array_length(state, '$.members') AS members, topic, partition, committed ->> 'offset' AS next
       FROM offsets JOIN (SELECT * FROM groups ORDER BY group_id LIMIT ?) USING (group_id)`,
    )
    .all(MOST_GROUPS)
  return [...Map.groupBy(rows, ({ id }) => id)].map(([group, of]) => ({
    group,
    state: of[0]!.members > 0 ? "Stable" : "Empty",
    members: of[0]!.members,
    committed: new Map(
      [...Map.groupBy(of, ({ topic }) => topic)].map(([topic, them]) => [
        topic,
        new Map(them.map(({ partition, next }) => [partition, next])),
      ]),
    ),
  }))
}

/** When the newest group changed, if that is not after now. */
function beginsMs(db: Database): number {
  const { newest } = db
    .query<{ newest: number | null }, []>("SELECT max(state ->> 'changedMs') AS newest FROM groups")
    .get()!
  return Math.min(newest ?? Number.POSITIVE_INFINITY, Date.now())
}

export class GroupDatabase extends DurableDatabase {
  readonly #clock: KeptClock
  readonly operations = {
    state: () => this.state(),
    write: (changes: GroupChanges) => this.write(changes),
  }

  constructor(location: DatabaseLocation) {
    super(location, {
      pageBytes: PAGE_BYTES,
      createTables(db) {
        db.run("CREATE TABLE IF NOT EXISTS groups (group_id TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT")
        db.run(
          `CREATE TABLE IF NOT EXISTS offsets (
            group_id TEXT NOT NULL,
            topic TEXT NOT NULL,
            partition INTEGER NOT NULL,
            committed TEXT NOT NULL,
            PRIMARY KEY (group_id, topic, partition)
          ) STRICT, WITHOUT ROWID`,
        )
        db.run("CREATE TABLE IF NOT EXISTS identity (cluster_id TEXT NOT NULL) STRICT")
        createClock(db, () => beginsMs(db))
      },
    })
    this.#clock = this.load(() => new KeptClock(this.db))
  }

  /** All that is in the file. */
  override state(): GroupChanges {
    const groups = this.db.query<{ group_id: string; state: string }, []>("SELECT * FROM groups").all()
    const offsets = this.db
      .query<{ group_id: string; topic: string; partition: number; committed: string }, []>(
        "SELECT * FROM offsets",
      )
      .all()
    // undefined: the file is new, or an older version wrote it
    const clusterId = readIdentity(this.db)
    return {
      ...(clusterId !== undefined && { clusterId }),
      clock: this.#clock.reading,
      groups: groups.map(({ group_id: id, state }) => [id, parse(state) as GroupSnapshot]),
      offsets: offsets.map(({ group_id: id, topic, partition, committed }) => [
        id,
        topic,
        partition,
        parse(committed) as CommittedOffset,
      ]),
    }
  }

  /** Commits changes; as `transact`. */
  write({ clusterId, groups, offsets }: GroupChanges): void {
    this.transact(() => {
      this.#clock.save()
      if (clusterId !== undefined) this.#belongTo(clusterId)
      for (const [id, state] of groups) {
        if (state === undefined) this.db.query("DELETE FROM groups WHERE group_id = ?").run(id)
        else this.db.query("INSERT OR REPLACE INTO groups VALUES (?, ?)").run(id, render(state))
      }
      const where = "WHERE group_id = ? AND topic = ? AND partition = ?"
      for (const [id, topic, partition, committed] of offsets) {
        if (committed === undefined) this.db.query(`DELETE FROM offsets ${where}`).run(id, topic, partition)
        else {
          const text = render(committed)
          this.db.query("INSERT OR REPLACE INTO offsets VALUES (?, ?, ?, ?)").run(id, topic, partition, text)
        }
        this.gathered(PAGE_BYTES)
      }
    })
  }

  #belongTo(clusterId: string): void {
    const before = readIdentity(this.db)
    if (before === clusterId) return
    if (before !== undefined) for (const table of ["groups", "offsets"]) this.db.run(`DELETE FROM ${table}`)
    this.db.run("DELETE FROM identity")
    this.db.query("INSERT INTO identity VALUES (?)").run(clusterId)
  }
}

const render = (value: object): string =>
  JSON.stringify(value, (_, it: unknown) =>
    it instanceof Uint8Array ? { base64: Buffer.from(it).toString("base64") } : it,
  )

const parse = (text: string): unknown =>
  JSON.parse(text, (_, it: unknown) =>
    typeof it === "object" && it !== null && "base64" in it
      ? new Uint8Array(Buffer.from(String(it.base64), "base64"))
      : it,
  )
