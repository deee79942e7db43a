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
    const child = Bun.spawn(args, {
      cwd: `${import.meta.dir}/..`,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    })
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
    const load = async (rate: number, seconds: number, body: string): Promise<Load> => {
      child.stdin.write(`${JSON.stringify({ rate, seconds, body })}\n`)
      await child.stdin.flush()
      let said = ""
      while (!said.endsWith("\n")) {
        const { value, done } = await lines.read()
        if (done) throw new Error("the producer ended before it had measured")
        said += value
      }
      return JSON.parse(said) as Load
    }
    // The connection is open and the topic known.
    await load(10, 1, '{"first":true}')
    return {
      pid: child.pid,
      load({ arrivals, seconds, body }) {
        if (!("rate" in arrivals)) throw new Error("the producer keeps a rate; it has no connections")
        return load(arrivals.rate, seconds, body)
      },
      async stop() {
        await child.stdin.end()
        await child.exited
      },
    }
  },
}
