import { join } from "node:path"
import type { Connection } from "../brokers/define-connection.ts"
import { readClientTls } from "../process/pem-files.ts"
import { exists } from "../process/paths.ts"
import { handlerTarget, type DeliveryTarget } from "../replay/handler.ts"
import { positionFile, Positions } from "../replay/positions.ts"
import { urlTarget, type PostOptions } from "../replay/post.ts"
import { parseTargetUrl } from "../replay/request-of-record.ts"
import type { AttemptTarget } from "../replay/target.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { sectionFolder } from "../extensions/owned-section.ts"
import { signerOf } from "./plan/forwards.ts"
import type { PlannedForward, PlannedHandler } from "./plan/plan.ts"

/** A forward of any kind. */
export interface ForwardSpec {
  readonly id: string
  readonly from: string
  /** undefined: a handler. */
  readonly url: string | undefined
  /** The Kafka consumer group. */
  readonly group: string
  readonly begin: "beginning" | "end"
  readonly where?: readonly string[] | undefined
  readonly rate?: number | undefined
  readonly onRefusal: "stop" | "skip"
  readonly deadLetters: string | undefined
  readonly locate: (connection: Connection, baseDir: string) => DatabaseLocation
  /** @param log the id of the log that is read */
  readonly openTarget: (log: () => string) => DeliveryTarget
}

export function sectionSpec(planned: PlannedForward): ForwardSpec {
  const { id, values } = planned
  const { from, begin, where, rate, on_refusal, dead_letter_topic: deadLetters } = values
  const url = parseTargetUrl(values.url)
  return {
    id,
    from,
    url: url.href,
    group: sectionGroup(id),
    begin,
    where,
    rate,
    onRefusal: on_refusal === "stop" ? "stop" : "skip",
    deadLetters,
    locate: (connection, baseDir) => forwardLocation(planned, connection, baseDir),
    openTarget: () => ({ target: openUrl(url, values) }),
  }
}

/** The Kafka consumer group of a section. */
export const sectionGroup = (id: string): string => `hookline-forward-${id}`

/**
 * Durably pauses a forward, or resumes it, here and at replicas; what runs it notices within seconds.
 *
 * @throws HooklineError `no_input` for one that has never run, `unavailable`, `log_io`
 */
export async function setForwardPaused(
  { kind, values }: Connection,
  forward: { readonly group: string; readonly topic: string; readonly location: DatabaseLocation },
  isPaused: boolean,
): Promise<void> {
  const { group, topic, location } = forward
  if (kind.pauseGroup !== undefined) return kind.pauseGroup(values, group, topic, isPaused)
  using positions = Positions.open(location)
  positions.setPaused(isPaused)
}

export function handlerSpec({ id, from, handler, options }: PlannedHandler): ForwardSpec {
  return {
    id,
    from,
    url: undefined,
    group: id,
    begin: options.begin ?? "end",
    onRefusal: "skip",
    deadLetters: options.deadLetter,
    locate: (connection, baseDir) => ({
      ...positionFile(sectionFolder(connection, baseDir), "handler", id),
      alternative: "another group; replicas of one service have folders of their own",
    }),
    openTarget: (log) => handlerTarget(handler, options, { group: id, log }),
  }
}

/** How a section's requests are made. @throws OptionError `config` for a file that can't be read or used */
export function postOptionsOf(values: PlannedForward["values"]): PostOptions {
  const { timeout, headers, tls_ca, tls_certificate, tls_key } = values
  return {
    timeoutMs: timeout,
    headers,
    signer: signerOf(values),
    caOption: "tls_ca",
    tls: readClientTls({
      ca: ["tls_ca", tls_ca],
      certificate: ["tls_certificate", tls_certificate],
      key: ["tls_key", tls_key],
    }),
  }
}

function openUrl(url: URL, values: PlannedForward["values"]): AttemptTarget {
  const { concurrency, retries, on_refusal, park_after } = values
  return urlTarget(url, {
    ...postOptionsOf(values),
    concurrency,
    stops: on_refusal === "stop",
    patience:
      on_refusal === "park"
        ? { refusals: Number.POSITIVE_INFINITY, parkAfterMs: park_after, retries }
        : { refusals: retries + 1, retries },
  })
}

/** The file of a section's position: where `hookline forward` began one under this name, that. */
export function forwardLocation(
  { id, values }: Pick<PlannedForward, "id"> & { readonly values: Partial<PlannedForward["values"]> },
  connection: Connection | undefined,
  baseDir: string,
): DatabaseLocation {
  const begun = positionFile(join(baseDir, ".hookline"), "forward", id)
  const { directory } = values
  const location =
    directory === undefined && exists(begun.file)
      ? begun
      : positionFile(directory ?? sectionFolder(connection, baseDir), "forward", id)
  return { ...location, title: `The position of [forward:${id}]`, alternative: "another directory" }
}
