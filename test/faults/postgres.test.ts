import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { fault, KILLS, restarted } from "../support/fault.ts"
import { isFull, KILL_TRIALS } from "../support/fault-table.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
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

    test("the primary is killed, and a synchronous standby promoted", async () => {
      await using primary = await makePostgres()
      primary.start()
      await primary.answers()
      await using standby = await makePostgres(primary)
      standby.start()
      await standby.answers()
      await primary.set("synchronous_standby_names", "standby")
      const synchronous = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
      while ((await query(primary.url, synchronous)).length === 0) await Bun.sleep(50)
      await using proxy = await openProxy()
      proxy.target = new URL(primary.url).host
      const to = await onPostgres(primary, { through: proxy.address, last: standby })
      await fault("Failover of PostgreSQL to a synchronous standby", to, {
        sending: { pauseMs: 1 },
        async during({ senders }) {
          await primary.kill()
          await query(standby.url, "SELECT pg_promote()")
          proxy.target = new URL(standby.url).host
          return senders.backAfterMs()
        },
      })
    })

    test("an asynchronous standby takes over: what it lacks is named", async () => {
      await using primary = await makePostgres()
      primary.start()
      await primary.answers()
      await using standby = await makePostgres(primary)
      standby.start()
      await standby.answers()
      await using proxy = await openProxy()
      proxy.target = new URL(primary.url).host
      const { connection } = await onPostgres(primary, { through: proxy.address })
      using folder = temporaryFolder()
      await using service = await startHookline(
        `[connection:db]\n${connection}[pipeline:hooks:WebHookSource]\n[pipeline:hooks:BrokerSink]\ntopic = hooks\nkey = json:/k\n`,
        { folder: folder.path },
      )
      const post = async (n: number): Promise<number> =>
        (await fetch(service.urls.hooks!, { method: "POST", body: JSON.stringify({ n, k: "a" }) })).status
      for (let n = 0; n < 10; n++) expect(await post(n)).toBe(200)
      const replayed = "SELECT FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()"
      while ((await query(primary.url, replayed)).length === 0) await Bun.sleep(50)
      await standby.kill()
      for (let n = 10; n < 17; n++) expect(await post(n)).toBe(200)
      await primary.kill()
      standby.start()
      await standby.answers()
      await query(standby.url, "SELECT pg_promote()")
      proxy.target = new URL(standby.url).host
      const { lost } = await service.logged(({ msg }) => msg.startsWith("PostgreSQL has lost events"))
      expect(lost).toEqual([
        expect.stringMatching(/^\d+ events? of hooks, partition \d, from offset \d+ on$/),
      ])
      while ((await post(17)) !== 200) await Bun.sleep(50)
    })

    test("answers of PostgreSQL are lost with their connections, then held for 3 s", async () => {
      await using proxy = await openProxy()
      proxy.target = new URL(postgres.url).host
      const to = await onPostgres(postgres, { through: proxy.address })
      await fault("Answers of PostgreSQL lost, then held for 3 s", to, {
        sending: { pauseMs: 1 },
        async during({ senders }) {
          for (let time = 0; time < KILL_TRIALS; time++) {
            await senders.many(20)
            proxy.loseAnswers()
            await senders.first(({ answer, answeredMs }) => answer === 503 && answeredMs > steadyMs() - 50)
            proxy.heal()
          }
          await senders.many(20)
          proxy.holdAnswers()
          await Bun.sleep(3000)
          proxy.heal()
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
