import { enumerate, nearest, suggest } from "../../words.ts"
import type { Place } from "../../config/file/problems.ts"
import type { Steps } from "../../clock/slices.ts"
import { defaultInFlightBytes } from "../../http/admission/budget.ts"
import { fileKinds } from "../../brokers/registry.ts"
import { KEYS_TO_ADD } from "../../brokers/resolve-connection.ts"
import { camelCase, message, named, ofSection, setting } from "../../message.ts"
import { DETAIL_WORDS } from "../../config/sections.ts"
import { parseTopicPlace } from "../../config/declarations.ts"
import { TOPIC_NAME } from "../../pipeline/topic-name.ts"
import { realPath } from "../../storage/real-path.ts"
import { connectionOf, unknownConnection, type ResolvedDraft } from "./resolved-draft.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"
import { senderOf } from "../../components/processor-facts.ts"
import { isOpenToAll, NOT_VERIFIED, verifiedFrom } from "./verified.ts"

/** The remedy for a missing connection. */
const wayToAdd = (id: string, { line }: Place): string =>
  line === "code"
    ? `add one by app.registerConnection(id, connection), with ${IN_CODE}`
    : `add [connection:${id}] with ${KEYS_TO_ADD}`

const IN_CODE = fileKinds.map(({ name, key }) => `${name}Connection({ ${camelCase(key!)} })`).join(" or ")

/** Checks that each sink has a connection to publish on. */
export function* checkConnections({
  pipelines,
  connections,
  configuration,
  problems,
}: ResolvedDraft): Steps<void> {
  const ids = [...connections.keys()]
  // because of an invalid section name, reported already
  const mayLack = configuration?.lacksSections === true
  let noneReported = mayLack
  for (const { sink } of pipelines) {
    yield
    if (sink === undefined || !("connection" in sink.component.options)) continue
    const id: unknown = sink.values.connection
    const location = sink.where("connection")
    if (typeof id === "string") {
      if (connections.has(id) || (ids.length === 0 && mayLack)) continue
      const none = `unknown connection ${sink.show("connection") ?? "id"}`
      const names = suggest(id, ids, (name) => JSON.stringify(name))
      problems.add(location, ids.length === 0 ? `${none}; ${wayToAdd("<id>", location)}` : `${none}${names}`)
    } else if (ids.length > 1 && !sink.isGiven("connection")) {
      problems.add(
        location,
        `is missing and there are several connections; it is one of ${enumerate(ids, "or")}`,
        "missing_key",
      )
    } else if (ids.length === 0 && !noneReported) {
      noneReported = true
      problems.add(
        { ...location, key: undefined },
        `no connection to publish on; ${wayToAdd("kafka", location)}`,
      )
    }
  }
}

/** Checks that pipelines whose metrics have detail exist. */
export function* checkDetail({ admin, pipelines, problems }: ResolvedDraft): Steps<void> {
  const { metrics_detail: detail = [] } = admin.values
  if (detail.length === 1 && DETAIL_WORDS.includes(detail[0]!)) return
  const ids = new Set(pipelines.map(({ id }) => id))
  for (const id of new Set(detail).difference(ids)) {
    yield
    const meant = nearest(id, [...ids]) ?? enumerate(DETAIL_WORDS, "or")
    problems.add(
      admin.where("metrics_detail"),
      `unknown pipeline ${JSON.stringify(id)}; did you mean ${meant}?`,
    )
  }
}

/** Checks that no two connections write to the same file. */
export function* checkFiles({ connections, problems }: ResolvedDraft): Steps<void> {
  const firsts = new Map<string, { readonly place: Place; readonly isInFolder: boolean }>()
  for (const { kind, values, where } of connections.values()) {
    yield
    const files = (kind?.files?.(values) ?? []).map((it) => ({ ...it, path: realPath(it.path) }))
    const taken = files.find(({ path }) => firsts.has(path))
    if (taken === undefined) {
      for (const { path, key, isInFolder } of files) firsts.set(path, { place: where(key), isInFolder })
      continue
    }
    const first = firsts.get(taken.path)!
    const what = taken.isInFolder && first.isInFolder ? "folder" : "file"
    problems.add(
      where(taken.key),
      `is the ${what} of another connection too (${problems.locate(first.place)}); give each its own`,
    )
  }
}

/** Checks that the audit has a topic of its own. */
export function* checkAudit({ admin, pipelines, connections }: ResolvedDraft): Steps<void> {
  const { audit_topic: place } = admin.values
  if (place === undefined) return
  yield
  const { connection, topic } = parseTopicPlace(place)
  if (!connections.has(connection)) admin.wrong("audit_topic", unknownConnection(connection, connections))
  if (!TOPIC_NAME.pattern.test(topic))
    admin.wrong("audit_topic", `names a topic that is not ${TOPIC_NAME.form}`)
  const { id } =
    pipelines.find(
      ({ sink }) =>
        connectionOf(sink, connections) === connection &&
        [sink?.values.topic, sink?.values.dead_letter_topic].includes(topic),
    ) ?? {}
  if (id !== undefined)
    admin.wrong("audit_topic", `is a topic of pipeline ${JSON.stringify(id)}; choose another`)
}

/** Checks that dead letters come from verified senders only, and go to no topic of accepted events. */
export function* checkDeadLetters({ pipelines, connections, problems }: ResolvedDraft): Steps<void> {
  if (!pipelines.some(({ sink }) => sink?.values.dead_letter_topic !== undefined)) return
  /** Identifies a topic by the sink's connection and its name. */
  const topicKey = (sink: ResolvedPipeline["sink"], topic: unknown): string =>
    JSON.stringify([connectionOf(sink, connections), topic])
  const byTopic = Map.groupBy(pipelines, ({ sink }) => topicKey(sink, sink?.values.topic))
  for (const { source, processors, sink } of pipelines) {
    yield
    const letters: unknown = sink?.values.dead_letter_topic
    if (sink === undefined || typeof letters !== "string") continue
    const location = sink.where("dead_letter_topic")
    if (source !== undefined && verifiedFrom({ source, processors }) === undefined) {
      problems.add(
        location,
        message`requires verified senders, and this pipeline verifies none; add a Verifier in mode enforce, or ${named("tls_client_ca")} to the source`,
      )
    }
    const other = byTopic.get(topicKey(sink, letters))?.find((it) => it.sink !== sink)
    if (other?.sink === undefined) continue
    const where = `pipeline ${JSON.stringify(other.id)} (${problems.locate(other.sink.where("topic"))})`
    problems.add(location, `is the topic of ${where}, which must not contain refused events; choose another`)
  }
}

/** Checks that the largest bodies fit into the in-flight budget. */
export function* checkBodySizes({ pipelines, service, problems }: ResolvedDraft): Steps<void> {
  const { max_in_flight_bytes: budget = defaultInFlightBytes() } = service.values
  for (const { source } of pipelines) {
    yield
    const body: unknown = source?.values.max_body_bytes
    if (source === undefined || typeof body !== "number" || body <= budget) continue
    problems.add(
      source.where("max_body_bytes"),
      message`is more than ${ofSection("service", named("max_in_flight_bytes"))}, so that the largest bodies would never be accepted; lower it, or raise that`,
    )
  }
}

/** Warns of pipelines that other machines can publish to unverified. */
export function* warnOfOpen({ pipelines, problems }: ResolvedDraft): Steps<void> {
  for (const { source, processors } of pipelines) {
    yield
    const host: unknown = source?.values.host
    if (source !== undefined && typeof host === "string" && isOpenToAll({ source, processors }, host))
      problems.warn(source.where("host"), NOT_VERIFIED)
  }
}

/** Warns of signed URLs of which whoever sends chooses the host. */
export function* warnOfHostHeader({ pipelines, problems }: ResolvedDraft): Steps<void> {
  for (const { source, processors } of pipelines) {
    yield
    const { name, covers } = senderOf(processors) ?? {}
    if (source === undefined || covers?.url !== true || source.isGiven("public_url")) continue
    const text = `is not set: the host of the URL that ${name} signs is taken from the Host header, which whoever sends a request chooses; set it to the URL that ${name} posts to`
    problems.warn(source.where("public_url"), text)
  }
}

/** Checks that instances which share ports share no file of the machine, and know each other as replicas. */
export function* checkReusedPorts({
  pipelines,
  connections,
  service,
  admin,
  problems,
}: ResolvedDraft): Steps<void> {
  if (service.values.reuse_port !== "on") return
  const here = ofSection("service", setting("reuse_port", "on"))
  const otherwise = setting("reuse_port", "off")
  if (admin.values.replicas === undefined)
    service.wrong(
      "reuse_port",
      message`takes replicas in [admin]: instances that share ports are replicas of each other; list the admin listener of each, or set ${otherwise}`,
    )
  for (const { kind, values, where } of connections.values()) {
    const found = kind?.oneProcess?.(values)
    if (found === undefined) continue
    const text = message`${found.what} is one process's, and ${here}; ${found.advice}, or set ${otherwise}`
    problems.add(where(found.key), text)
  }
  for (const { source } of pipelines) {
    yield
    if (source?.values.port !== 0) continue
    const text = message`0 would be another port in each instance, and ${here}; name a port, or set ${otherwise}`
    problems.add(source.where("port"), text)
  }
}
