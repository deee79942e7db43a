import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test"
import { fault, KILLS, restarted } from "../support/fault.ts"
import { isFull, KILL_TRIALS } from "../support/fault-table.ts"
import { hasPostgres, makePostgres, query, type Postgres } from "../support/postgres.ts"
import { onPostgres } from "../support/postgres-log.ts"

setDefaultTimeout(isFull ? 3_600_000 : 600_000)

describe.skipIf(!hasPostgres())(
  "on a log in PostgreSQL nothing acknowledged is lost, nothing is doubled",
  () => {
    let postgres: Postgres
    beforeAll(async () => {
      postgres = await makePostgres()
      postgres.start()
      await postgres.answers()
    })
    afterAll(() => postgres[Symbol.asyncDispose]())

    test(`Hookline is killed ${KILLS} times`, async () => {
      await fault(
        `Hookline on PostgreSQL killed ${KILLS} times`,
        await onPostgres(postgres),
        restarted(KILLS),
      )
    })

    test(`PostgreSQL is killed ${KILL_TRIALS} times`, async () => {
      await fault(`PostgreSQL killed ${KILL_TRIALS} times`, await onPostgres(postgres), {
        sending: { pauseMs: 1 },
        async during({ senders }) {
          for (let time = 0; time < KILL_TRIALS; time++) {
            await senders.many(50 + Math.floor(Math.random() * 100))
            await postgres.kill()
            postgres.start()
            await postgres.answers()
          }
          return senders.backAfterMs()
        },
      })
    })

    test(`the connections to PostgreSQL are ended ${KILL_TRIALS} times`, async () => {
      await fault(`Connections to PostgreSQL ended ${KILL_TRIALS} times`, await onPostgres(postgres), {
        sending: { pauseMs: 1 },
        async during({ senders }) {
          for (let time = 0; time < KILL_TRIALS; time++) {
            await senders.many(50 + Math.floor(Math.random() * 100))
            await query(
              postgres.url,
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'hookline%'",
            )
          }
          return senders.backAfterMs()
        },
      })
    })

    test("PostgreSQL is stopped where it is for 3 s, and goes on", async () => {
      await fault("PostgreSQL stopped for 3 s", await onPostgres(postgres), {
        async during({ senders }) {
          postgres.signalAll("SIGSTOP")
          await Bun.sleep(3000)
          postgres.signalAll("SIGCONT")
          return senders.backAfterMs()
        },
      })
    })

    test("a row of partitions is locked by another program for 3 s", async () => {
      const to = await onPostgres(postgres)
      const schema = /schema = (\w+)/.exec(to.connection)![1]!
      await fault("A partition in PostgreSQL locked for 3 s", to, {
        async during({ senders }) {
          await query(
            postgres.url,
            `BEGIN; SELECT FROM ${schema}.partitions FOR UPDATE; SELECT pg_sleep(3); COMMIT`,
          )
          return senders.backAfterMs()
        },
      })
    })
  },
)
