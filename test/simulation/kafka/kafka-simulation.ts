import type { Outcome } from "../simulation.ts"
import { World } from "../world.ts"
import { Audit } from "./audit.ts"
import type { Publication } from "./publication.ts"
import { Cluster } from "./cluster.ts"
import { simulateCompression } from "./compression.ts"
import { Network, useNetwork } from "./network.ts"
import { type KafkaScenario, releaseOf, type Step } from "./scenario.ts"
import { Service } from "./service.ts"
import { carryOut } from "./faults.ts"

simulateCompression()

/** A cluster, a network, and a service that publishes to it. */
export class KafkaSimulation {
  readonly world: World
  readonly cluster: Cluster
  readonly network: Network
  readonly audit: Audit
  readonly scenario: KafkaScenario
  service: Service
  #services = 0
  #records = 0

  constructor(scenario: KafkaScenario) {
    this.scenario = scenario
    this.world = new World(scenario.seed)
    this.cluster = new Cluster(this.world, { ...scenario.cluster, release: releaseOf(scenario) })
    this.network = new Network(this.world, this.cluster.servers)
    useNetwork(this.world, this.network)
    this.audit = new Audit(this.world, (publication, isFinal) => this.#mayBeRejected(publication, isFinal))
    this.network.onSent = (socket, frame, begunMs) => this.audit.sent(socket, frame, begunMs)
    this.cluster.onCommitted = (topic, index, entries) => this.audit.logs.committed(topic, index, entries)
    this.cluster.onRefused = (topic, index, batch) => this.audit.refused(topic, index, batch)
    for (const { name, partitions } of scenario.topics) this.cluster.controller.create(name, partitions)
    this.service = this.start()
  }

  /** Starts a service, a new process. */
  start(): Service {
    const { scenario } = this
    const servers = [...this.cluster.servers.keys()]
    const topics = scenario.topics.map(({ name }) => name)
    return new Service(
      this.world,
      `service ${++this.#services}`,
      this.audit,
      servers,
      scenario.service,
      topics,
    )
  }

  publish({
    topic,
    key,
    bytes,
    timeoutMs,
  }: Pick<Step & { do: "publish" }, "topic" | "key" | "bytes" | "timeoutMs">): void {
    if (this.service.isClosing) return
    const id = ++this.#records
    const publication: Publication = {
      id,
      process: this.service.process,
      topic,
      key: key < 0 ? undefined : `key-${key}`,
      value: Buffer.from(`${id} `.padEnd(bytes, "x")),
      timeoutMs,
      publishedMs: -1,
      outcome: "pending",
    }
    this.audit.add(publication)
    this.service.publish(publication)
  }

  run(): Outcome {
    const { world, scenario } = this
    for (const step of scenario.steps) world.after(step.atMs, () => carryOut(this, step))
    world.onStep = () => {
      if (world.steps % CHECKED_STEPS === 0) this.#checkBounds()
    }
    world.runUntil(scenario.healMs)
    this.#heal()
    return {
      violations: world.violations,
      history: () => world.history(),
      hash: () => world.hash(),
      steps: world.steps,
    }
  }

  /** Whether a record may be rejected: for good, or for now. */
  #mayBeRejected({ value, timeoutMs }: Publication, isFinal: boolean): boolean {
    const { steps, cluster } = this.scenario
    if (value.length + 200 > Math.min(cluster.maxMessageBytes, cluster.maxRequestBytes)) return true
    if (isFinal) return steps.some((step) => step.do === "errors")
    let lateMs = 0
    for (const step of steps)
      if (step.do === "late acknowledgements") lateMs = step.ms
      else if (step.do !== "publish") return true
    return timeoutMs < Math.max(FAULTLESS_MS, 2 * lateMs + FOUND_LATE_MS)
  }

  /** What a process holds is bounded by what is pending. */
  #checkBounds(): void {
    const { world, network, service } = this
    const sockets = [...network.open].filter(({ client }) => client === service.process).length
    if (sockets > MOST_SOCKETS) world.violate(`${service.process.name} has ${sockets} connections open`)
    const scheduled = world.scheduledBy(service.process)
    if (scheduled > MOST_SCHEDULED + 2 * service.pending)
      world.violate(`${service.process.name} has scheduled ${scheduled} events`)
  }

  #publishAll(): void {
    const first = this.#records
    for (const { name: topic } of this.scenario.topics)
      for (let key = -1; key < 4; key++) this.publish({ topic, key, bytes: 20, timeoutMs: HEALED_MS })
    const published = this.audit.after(first)
    const isAnswered = (): boolean => published.every(({ outcome }) => outcome !== "pending")
    this.world.runUntil(this.world.nowMs + HEALED_MS, isAnswered)
  }

  /** Everything heals: what is published then has to arrive, and nothing may be left. */
  #heal(): void {
    const { world, cluster, network, scenario, audit } = this
    world.tell("all", "heals")
    cluster.heal()
    network.heal()
    for (const { name, partitions } of scenario.topics)
      if (!cluster.controller.image.topics.has(name)) cluster.controller.create(name, partitions)
    const last = HEAL_MS + scenario.healMs
    world.runUntil(last)
    // nothing was sent for longer than any batch is tried
    if (scenario.forgets) cluster.forgetProducers()
    // that an idle topic was created again may only show by its first event, and without topic ids 5 s later: docs/limits.md
    this.#publishAll()
    if (!cluster.settings.release.hasTopicIds) {
      world.runUntil(world.nowMs + HEAL_MS)
      this.#publishAll()
    }
    const first = this.#records
    this.#publishAll()
    for (const { id, outcome } of audit.after(first))
      if (outcome !== "acknowledged")
        world.violate(`${id} was not published although everything had healed: ${outcome}`)
    const ready = this.service.broker.ready()
    if (ready !== true) world.violate(`the producer is not ready although everything had healed: ${ready}`)
    this.service.close()
    world.runUntil(world.nowMs + 100)
    if (!this.service.isClosed) world.violate("the producer does not close")
    for (const { id } of audit.pending) world.violate(`${id} was never answered`)
    for (const { client, number, server } of network.open)
      world.violate(`${client.name} has left connection ${number} to ${server} open`)
    cluster.stop()
    // longer than any request, or pause
    world.runUntil(world.nowMs + 15_000)
    const left = world.scheduledBy(this.service.process)
    if (left > 0) world.violate(`a closed producer has ${left} timers`)
  }
}

/** After which a producer has learnt of the cluster's state: metadata that is stale is ignored for 5 s. */
const HEAL_MS = 6500
/** For a record to be published then. */
const HEALED_MS = 3000
/** For a record to be published when nothing fails. */
const FAULTLESS_MS = 3000
/** How much longer it may take until it has shown that acknowledgements are late. */
const FOUND_LATE_MS = 1500
/** How often bounds are checked. */
const CHECKED_STEPS = 50
/** The most of one process: to three leaders and three brokers that are asked for metadata, each while one more is opened. */
const MOST_SOCKETS = 14
/** Timers, and packets on their way to it. */
const MOST_SCHEDULED = 60
