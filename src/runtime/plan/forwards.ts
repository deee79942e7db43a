import { parseCondition } from "../../brokers/record-filter.ts"
import type { Steps } from "../../clock/slices.ts"
import { isListeningAt } from "../../components/webhook-source/reached-at.ts"
import { FILE_NAME, toFileName } from "../../process/file-name.ts"
import { parseTopicPlace, TOPIC_PLACE } from "../../config/declarations.ts"
import { HooklineError } from "../../errors.ts"
import { refusedHost } from "../../outgoing/refused-addresses.ts"
import { TOPIC_NAME } from "../../pipeline/topic-name.ts"
import type { Handler, HandlerOptions } from "../../replay/handler.ts"
import { parseTargetUrl } from "../../replay/request-of-record.ts"
import { makeSigner, type Signer, WrongSetting } from "../../verify/verification.ts"
import type { PlannedHandler } from "./draft.ts"
import {
  connectionOf,
  unknownConnection,
  type ResolvedDraft,
  type ResolvedForward,
} from "./resolved-draft.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"

/** @param others registered before @throws HooklineError `config` */
export function plannedHandler(
  from: string,
  handler: Handler,
  options: HandlerOptions,
  others: readonly PlannedHandler[],
): PlannedHandler {
  const id = options.group ?? toFileName(from)
  const { concurrency = 1, retries = 0, timeout = 1, position, sql } = options
  const isCount = (value: number, min: number): boolean => Number.isInteger(value) && value >= min
  const wrong =
    (others.some((it) => it.id === id) && "has a handler already; give this one another group") ||
    (!TOPIC_PLACE.pattern.test(from) && `${JSON.stringify(from)} is not ${TOPIC_PLACE.form}`) ||
    (!FILE_NAME.pattern.test(id) && `may have ${FILE_NAME.form}`) ||
    (!isCount(concurrency, 1) && "concurrency is not a whole number from 1") ||
    (!isCount(retries, 0) && "retries is not a whole number from 0") ||
    (!(timeout > 0) && "timeout is not a number of milliseconds") ||
    ((position === "transaction") !== (sql !== undefined) &&
      'position: "transaction" and sql need each other')
  if (wrong !== false) throw new HooklineError("config", `group ${JSON.stringify(id)}: ${wrong}`)
  return { id, from, handler, options }
}

/** What signs the requests of a section; undefined: nothing. @throws WrongSetting */
export function signerOf({ sign, secret, provider }: ResolvedForward["values"]): Signer | undefined {
  const name = sign === "provider" ? provider : sign === "standard-webhooks" ? sign : undefined
  return name === undefined || secret === undefined ? undefined : makeSigner(name, { secret: [secret] })
}

/** Checks that each has a topic to read, and can post what it reads. */
export function* checkForwards({
  forwards,
  pipelines,
  connections,
  draft,
  problems,
}: ResolvedDraft): Steps<void> {
  for (const { id, from } of draft.handlers ?? []) {
    yield
    const { connection } = parseTopicPlace(from)
    if (connections.has(connection)) continue
    const text = `handles ${from}: ${unknownConnection(connection, connections)}`
    problems.add({ line: "code", section: `handler:${id}` }, text)
  }
  for (const forward of forwards.values()) {
    yield
    const { values, wrong } = forward
    const url = checkForward(forward)
    if (values.from === undefined) continue
    const { connection, topic } = parseTopicPlace(values.from)
    if (!connections.has(connection)) {
      wrong("from", unknownConnection(connection, connections))
      continue
    }
    const { dead_letter_topic: letters } = values
    if (letters !== undefined && !TOPIC_NAME.pattern.test(letters))
      wrong("dead_letter_topic", `is not ${TOPIC_NAME.form}`)
    if (letters === topic) wrong("dead_letter_topic", "is the topic that is forwarded; name another one")
    const publishing = pipelines.filter(
      ({ sink }) => sink?.values.topic === topic && connectionOf(sink, connections) === connection,
    )
    checkPublishing(forward, url, publishing)
    const { values: log = {}, kind } = connections.get(connection) ?? {}
    if (letters === undefined && values.on_refusal !== "stop" && kind?.logFolder?.(log) !== undefined)
      problems.warn(
        forward.where("on_refusal"),
        `refused records are kept as long as the log keeps them (retention of connection ${connection}); set dead_letter_topic to keep them longer`,
      )
  }
}

/** Checks what a section says by itself. @returns its URL, where that is one */
export function checkForward(forward: ResolvedForward): URL | undefined {
  const { values, wrong } = forward
  for (const condition of values.where ?? []) tryTo(forward, "where", () => parseCondition(condition))
  checkSigner(forward)
  const url = values.url === undefined ? undefined : tryTo(forward, "url", () => parseTargetUrl(values.url!))
  const refused = url && refusedHost(url.hostname)
  if (refused !== undefined) wrong("url", refused)
  return url
}

/** @param pipelines that publish to the topic */
function checkPublishing(
  { values, wrong }: ResolvedForward,
  url: URL | undefined,
  pipelines: readonly ResolvedPipeline[],
): void {
  for (const { id, source, processors } of pipelines) {
    if (url !== undefined && source !== undefined && isListeningAt(source.values, url))
      wrong(
        "url",
        `is pipeline ${id} of this configuration, which publishes to ${values.from}: each record posted there would come back; name the URL of your application`,
      )
    const isReceived = processors.some(
      (it) => typeof it !== "function" && it.component.keepsReceived?.(it.values) === true,
    )
    if (values.sign === "as_received" && !isReceived)
      wrong(
        "sign",
        `pipeline ${id} publishes enriched bodies, whose signatures do not verify any more; set value = received in [pipeline:${id}:Enricher], or sign = provider`,
      )
  }
}

function checkSigner(forward: ResolvedForward): void {
  try {
    signerOf(forward.values)
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    const { key, text, problem } = error
    forward.wrong(key === "provider" ? key : "secret", text, problem)
  }
}

function tryTo<T>(forward: ResolvedForward, key: "where" | "url", parse: () => T): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof HooklineError)) throw error
    forward.wrong(key, error.message)
    return undefined
  }
}
