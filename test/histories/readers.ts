import { endingWithThisProcess } from "../support/child.ts"
import type { HistoryFile } from "./history.ts"

const AGAIN_AFTER_MS = 500

/** Reads topics with kcat, a client of its own (librdkafka), into a history: all the time, and once to the end. */
export class Readers implements AsyncDisposable {
  readonly #servers: string
  readonly #history: HistoryFile
  /** The next offset of the reader that reads all the time, by topic and partition. */
  readonly #next = new Map<string, number>()
  readonly #children = new Set<Bun.Subprocess>()
  readonly #following: Promise<void>[] = []
  #stopped = false

  constructor(servers: readonly string[], history: HistoryFile) {
    this.#servers = servers.join(",")
    this.#history = history
  }

  /** Reads a partition from its beginning until stopped. Where kcat ends it is started again behind what it read. */
  follow(topic: string, partition: number): void {
    const name = `${topic}/${partition}`
    this.#next.set(name, 0)
    const reading = async (): Promise<void> => {
      while (!this.#stopped) {
        const from = this.#next.get(name)!
        await this.#read("continuous", topic, partition, from, (next) => this.#next.set(name, next))
        if (!this.#stopped) await Bun.sleep(AGAIN_AFTER_MS)
      }
    }
    this.#following.push(reading())
  }

  /** Where the reader that reads all the time is. */
  next(topic: string, partition: number): number {
    return this.#next.get(`${topic}/${partition}`) ?? 0
  }

  /** Reads a partition from its beginning to its end. @returns the offset behind it */
  async readToEnd(topic: string, partition: number): Promise<number> {
    let end = 0
    const { status, said } = await this.#read("final", topic, partition, 0, (next) => (end = next))
    if (status !== 0) throw new Error(`kcat could not read ${topic}/${partition} to its end: ${said}`)
    return end
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    for (const child of this.#children) child.kill("SIGKILL")
    await Promise.all(this.#following)
  }

  async #read(
    reader: "continuous" | "final",
    topic: string,
    partition: number,
    from: number,
    moved: (next: number) => void,
  ): Promise<{ status: number; said: string }> {
    this.#history.add({ f: "assign", reader, topic, partition, offset: from })
    const settings = {
      // Where an offset is not there, that is an error and not a reason to go on elsewhere.
      "auto.offset.reset": "error",
      "topic.metadata.refresh.interval.ms": "5000",
      "reconnect.backoff.max.ms": "1000",
      "check.crcs": "true",
    }
    const given = Object.entries(settings).flatMap(([name, value]) => ["-X", `${name}=${value}`])
    const place = ["-t", topic, "-p", `${partition}`, "-o", `${from}`]
    const end = reader === "final" ? ["-e"] : []
    const child = Bun.spawn(
      endingWithThisProcess(
        "kcat",
        "-C",
        "-q",
        "-u",
        "-b",
        this.#servers,
        ...place,
        ...end,
        ...given,
        "-f",
        "%o %k %s\n",
      ),
      { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    )
    this.#children.add(child)
    const said = child.stderr.text()
    let rest = ""
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
      rest = lines.pop()!
      if (lines.length === 0) continue
      const records = lines.map(parse)
      this.#history.add({ f: "poll", reader, topic, partition, records })
      moved(records.at(-1)![0] + 1)
    }
    const status = await child.exited
    this.#children.delete(child)
    return { status, said: await said }
  }
}

/** The number is -1 where the value is no event, or has another key than its record. */
function parse(line: string): readonly [offset: number, n: number, key: string] {
  const [, offset, key, value] = /^(\d+) (\S*) (.*)$/.exec(line) ?? []
  if (offset === undefined) throw new Error(`kcat wrote ${line}`)
  const [, n, k] = /^\{"n":(\d+),"k":"(\w+)"/.exec(value!) ?? []
  return [Number(offset), n === undefined || k !== key ? -1 : Number(n), key!]
}
