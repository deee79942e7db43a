import type { Load } from "./traffic.ts"
import type { Target } from "./target.ts"

/** The producer of bench/producer.ts: an open loop alone. */
export const loneProducer: Target = {
  name: "producer",
  title: "lone producer, no HTTP",
  onKafka: true,
  isReceiver: false,
  async start(topic) {
    const args = [process.execPath, "bench/producer.ts", topic!.bootstrapServers.join(","), topic!.topic]
    let measured = Promise.withResolvers<Load>()
    const child = Bun.spawn(args, {
      cwd: `${import.meta.dir}/..`,
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (load: Load) => measured.resolve(load),
      onExit: () => measured.reject(new Error("the producer ended before it had measured")),
    })
    const load = (rate: number, seconds: number, body: string): Promise<Load> => {
      measured = Promise.withResolvers()
      child.send({ rate, seconds, body })
      return measured.promise
    }
    // The connection is open and the topic known.
    await load(10, 1, '{"first":true}')
    return {
      pid: child.pid,
      load({ arrivals, seconds, body }) {
        if (!("rate" in arrivals)) throw new Error("the producer keeps a rate; it has no connections")
        return load(arrivals.rate, seconds, body)
      },
      async [Symbol.asyncDispose]() {
        child.disconnect()
        await child.exited
      },
    }
  },
}
