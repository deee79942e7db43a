// hookline or franz-go behind a slow broker: a table of refusals and latencies
import { steadyMs } from "./src/clock/clock.ts"
import { startKafkaBehind } from "./test/support/kafka-behind.ts"
import { createTopic, freshTopic } from "./test/support/kafka.ts"
import { KeptConnection } from "./test/support/kept-connection.ts"
import { openSlowBroker } from "./test/support/slow-broker.ts"
import { startHookline, temporaryFolder } from "./test/support/hookline.ts"
import { freePort } from "./test/support/ports.ts"
const [
  who = "hookline",
  lates = "50,300,700,1500",
  rates = "0.2,5,2000",
  modes = "overlap,serial",
  secs = "20",
  timeout = "5s",
  extra = "",
] = process.argv.slice(2)
const slow = await openSlowBroker()
const kafka = await startKafkaBehind([slow])
const pad = "x".repeat(340)
for (const mode of modes.split(","))
  for (const late of lates.split(",").map(Number))
    for (const rate of rates.split(",").map(Number)) {
      for (const keyed of [true, false]) {
        slow.lateMs = 0
        slow.overlap = mode === "overlap"
        const topic = freshTopic()
        const partitions = Number(process.env.PARTITIONS ?? (rate > 500 ? 6 : 1))
        await createTopic(kafka, topic, { partitions })
        using folder = temporaryFolder()
        let url: string, stop: () => Promise<unknown>
        if (who === "franz") {
          const port = await freePort()
          const child = Bun.spawn(["bench/peers/franz-go/start"], {
            env: {
              ...process.env,
              PORT: `${port}`,
              BOOTSTRAP_SERVERS: slow.address,
              TOPIC: topic,
              SECRET: "",
            },
            stdout: "ignore",
            stderr: "ignore",
          })
          await Bun.sleep(1500)
          url = `http://127.0.0.1:${port}/`
          stop = async () => {
            child.kill()
            await child.exited
          }
        } else {
          const running = await startHookline(
            `[connection:broker]\nbootstrap_servers = ${slow.address}\ndelivery_timeout = ${timeout}\n${extra.replaceAll(";", "\n")}\n[pipeline:webhooks:WebHookSource]\nhost = 127.0.0.1\nport = 0\n[pipeline:webhooks:BrokerSink]\ntopic = ${topic}\n${keyed ? "key = json:/k" : ""}\n[admin]\nlisten = 127.0.0.1:0`,
            { folder: folder.path },
          )
          url = running.urls["webhooks"]!
          stop = () => running.stop()
        }
        slow.lateMs = late
        const free: KeptConnection[] = []
        const took: number[] = []
        const statuses: Record<string, number> = {}
        let n = 0
        const one = async (count = true) => {
          const it = free.pop() ?? new KeptConnection(url)
          const startMs = steadyMs()
          const answer = await it.post(JSON.stringify({ n: n++, k: `k${n % 97}`, pad }))
          free.push(it)
          if (!count) return
          took.push(steadyMs() - startMs)
          statuses[answer] = (statuses[answer] ?? 0) + 1
        }
        await one(false)
        const seconds = rate < 1 ? Math.max(Number(secs), 25) : Number(secs)
        const startMs = steadyMs()
        const pending: Promise<void>[] = []
        const total = Math.ceil(rate * seconds)
        while (pending.length < total) {
          const due = Math.min(total, Math.floor(((steadyMs() - startMs) * rate) / 1000) + 1)
          while (pending.length < due) pending.push(one())
          await Bun.sleep(5)
        }
        await Promise.all(pending)
        took.sort((a, b) => a - b)
        const p = (q: number) => Math.round(took[Math.min(took.length - 1, Math.floor(took.length * q))]!)
        console.log(
          who,
          mode,
          `late ${late}`,
          `${rate}/s`,
          keyed ? "keyed" : "unkeyed",
          JSON.stringify(statuses),
          `p50 ${p(0.5)} p99 ${p(0.99)} max ${p(1)} limit ${2.2 * late + 100}`,
          p(0.99) <= 2.2 * late + 100 ? "" : "SLOW",
        )
        for (const it of free) it[Symbol.dispose]()
        await stop()
        if (who === "franz") break
      }
    }
await kafka.stop()
await slow[Symbol.asyncDispose]()
process.exit(0)
