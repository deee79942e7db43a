import { ERROR } from "../../kafka-protocol/error-codes.ts"
import {
  ConfigResourceTypes,
  createTopicsV4,
  createTopicsV5,
  createTopicsV7,
  describeConfigsV1,
  describeConfigsV4,
} from "./client-library.ts"
import { Backoff } from "../../clock/backoff.ts"
import type { KafkaConnection } from "./connection.ts"
import { partial } from "./failure.ts"
import { errorNameOf } from "./error-actions.ts"
import { CREATE_RETRY_MS, CREATE_TIMEOUT_MS } from "./timeouts.ts"

const DESCRIBE_CONFIGS = [describeConfigsV4, describeConfigsV1]
/** The first that take the broker's own defaults is 4. */
const CREATE_TOPICS = [createTopicsV7, createTopicsV5, createTopicsV4]
const BROKER_DEFAULTS = { numPartitions: -1, replicationFactor: -1 }

/**
 * Creates topics with the cluster's default partitions and replicas, where `auto.create.topics.enable` allows that. A
 * metadata request could do so as well, but would create one again that somebody has just deleted.
 *
 * @param broker that the connection goes to: each is asked for its own configuration
 */
export async function createTopics(
  connection: KafkaConnection,
  broker: number,
  topics: readonly string[],
): Promise<ReadonlyMap<string, Creation>> {
  const values = await configOf(connection, "BROKER", [`${broker}`], AUTO_CREATE)
  const allowed = values.get(`${broker}`)
  if (allowed !== "true") {
    const problem = `${AUTO_CREATE} is ${allowed === "false" ? allowed : "unknown"}`
    return new Map(topics.map((topic) => [topic, { problem, isFinal: true }]))
  }
  const requested = topics.map((name) => ({ name, ...BROKER_DEFAULTS, assignments: [], configs: [] }))
  const created = await partial(
    connection.request(CREATE_TOPICS, requested, CREATE_TIMEOUT_MS.controller, false),
  )
  const answers = new Map(created.topics.map((topic) => [topic.name, topic]))
  return new Map(topics.map((topic) => [topic, outcomeOf(answers.get(topic))]))
}

/** The value of one configuration key, by the name of its resource. Undefined: this client may not describe it. */
export async function configOf(
  connection: KafkaConnection,
  kind: "TOPIC" | "BROKER",
  names: readonly string[],
  key: string,
): Promise<ReadonlyMap<string, string | undefined>> {
  const resourceType = ConfigResourceTypes[kind]
  const resources = names.map((resourceName) => ({ resourceType, resourceName, configurationKeys: [key] }))
  const { results } = await partial(connection.request(DESCRIBE_CONFIGS, resources, false, false))
  return new Map(
    results.map(({ resourceName, configs }) => [
      resourceName,
      configs.find(({ name }) => name === key)?.value ?? undefined,
    ]),
  )
}

export interface Creation {
  /** Why it was not; undefined: it was, or exists. */
  readonly problem: string | undefined
  /** Whether another try would end in the same way. */
  readonly isFinal: boolean
}

/** When a topic is to be created: once, and again later and later while that fails for a passing reason. */
export class CreationSchedule {
  isPending = false
  /** Why it was not created. */
  problem: string | undefined
  #atMs = Number.NEGATIVE_INFINITY
  readonly #pauses = new Backoff(CREATE_RETRY_MS)

  /** @returns whether it is to be created now; `end` says what became of it */
  begin(nowMs: number): boolean {
    if (nowMs < this.#atMs) return false
    this.#atMs = Number.POSITIVE_INFINITY
    this.isPending = true
    return true
  }

  end({ problem, isFinal }: Creation, nowMs: number): void {
    this.isPending = false
    this.problem = problem
    if (problem === undefined || isFinal) return
    this.#atMs = nowMs + this.#pauses.failed()
  }
}

function outcomeOf(
  answer: { errorCode: number; errorMessage?: string | null | undefined } | undefined,
): Creation {
  if (answer === undefined) return { problem: "no answer about it", isFinal: false }
  const { errorCode, errorMessage } = answer
  if (errorCode === 0 || errorCode === ERROR.TOPIC_ALREADY_EXISTS)
    return { problem: undefined, isFinal: true }
  return { problem: errorMessage ?? `error ${errorNameOf(errorCode)}`, isFinal: !PASSING.includes(errorCode) }
}

/** UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, INVALID_REPLICATION_FACTOR (brokers may be starting), NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED */
const PASSING = [-1, 7, 38, 41, 89]
const AUTO_CREATE = "auto.create.topics.enable"
