// Hot path: every event of a verified pipeline passes here.
import type { Values } from "../config/options.ts"
import {
  Dropped,
  Rejected,
  type Admission,
  type Ended,
  type Event,
  type Processor,
  type RequestInfo,
} from "../event.ts"
import type { Outside } from "../verify/family.ts"
import { handshakeOf } from "../verify/handshakes.ts"
import { findFamily, makeVerifier } from "../verify/providers.ts"
import { NOTHING_READ } from "../verify/signature.ts"
import { RequestLog } from "../telemetry/request-log.ts"
import { Refused, type Verdict, type Verified, type Verifier } from "../verify/verifier.ts"
import { openSecretFile } from "./secret-file.ts"
import { signedIdClaims, type IdVerdict } from "./signed-id-claims.ts"
import type { VERIFIER_OPTIONS } from "./verifier-options.ts"

const NO_BODY = new Uint8Array()

/**
 * Makes the step that verifies requests and answers handshakes.
 *
 * @param surroundings what keys, certificates and confirmations are fetched with, and the clock, in milliseconds since
 *   1970
 * @throws HooklineError `config` for settings that are not right
 */
export function verification(
  values: Values<typeof VERIFIER_OPTIONS>,
  context: Parameters<typeof signedIdClaims>[2],
  { outside, now = Date.now }: { outside?: Outside; now?: () => number } = {},
): Processor {
  const { log, metrics, keep } = context
  const { provider, mode } = values
  const file = values.secret_file === undefined ? undefined : openSecretFile(values.secret_file, log)
  let verifier =
    file !== undefined && file.secrets.length === 0
      ? NO_SECRET
      : makeVerifier(provider, { ...values, secret: file?.secrets ?? values.secret }, outside)
  /** Another process may have been brought the secret. */
  const lookAgain = (): void => {
    if (values.secret_file === undefined || verifier !== NO_SECRET) return
    const { secrets } = openSecretFile(values.secret_file, log)
    if (secrets.length > 0) verifier = makeVerifier(provider, { ...values, secret: secrets }, outside)
  }
  const learn = (secret: string): boolean => {
    lookAgain()
    if (file === undefined || verifier !== NO_SECRET) return false
    file.keep(secret)
    verifier = makeVerifier(provider, { ...values, secret: [secret] }, outside)
    log.warn({ secret_file: values.secret_file }, "the provider's first request brought its secret")
    return true
  }
  const handshake = handshakeOf(provider, {
    secrets: values.secret ?? [],
    verifyTokens: values.verify_token ?? [],
    confirms: values.confirm === "true",
    learn,
    fetch: outside?.fetch ?? ((url, init) => fetch(url, init)),
  })

  const covers = findFamily(provider)!.covers(values)
  const { toleranceMs } = verifier
  const ids = covers.id ? signedIdClaims(provider, { covers, toleranceMs }, context, now) : undefined
  const challenge = { "WWW-Authenticate": challengeOf(values) }

  if (mode === "observe")
    log.warn(
      { provider },
      "VERIFICATION IS ONLY OBSERVED: events that are not verified are published; set mode = enforce",
    )

  // every event may be one of these: as many lines as of refusals
  const observed =
    mode === "observe"
      ? keep({
          name: "log of what is observed",
          wants: undefined,
          open: () => new RequestLog(log),
          close: (it) => it.flush(),
        })
      : undefined
  const refuse = ({ reason, detail }: Refused, request: RequestInfo): Rejected | undefined => {
    metrics.unverified(reason, mode)
    if (observed !== undefined) {
      const { method, path, remoteAddress } = request
      const line = { pipeline: undefined, reason, detail, method, path, remote_address: remoteAddress }
      observed.write("warn", line, "not verified; passes")
      return undefined
    }
    const word = `unverified_${reason}`
    if (reason === "duplicate_member")
      return new Rejected(400, reason, "The body has a duplicate member name.", { logDetail: detail })
    if (reason === "keys_unavailable")
      return new Rejected(503, word, "The event can't be verified now; send it again later.", {
        logDetail: detail,
        headers: { "Retry-After": "5" },
      })
    return new Rejected(401, word, "The request could not be verified.", {
      logDetail: detail,
      headers: challenge,
      bodiless: handshake?.bodilessRefusal === true,
    })
  }

  const verify = (request: RequestInfo, body: Uint8Array): Verdict | Promise<Verdict> => {
    const { method, path, query, headers } = request
    const url = verifier.signsUrl ? request.url : ""
    return verifier.verify({ method, path, query, headers, url, body }, now())
  }

  const passUnverified = (event: Event): Event => {
    event.isUnverified = true
    return event
  }
  const pass = (event: Event, { id, key, isForm }: Passed): Event | Ended | Promise<Event | Ended> => {
    const answer = handshake?.verified?.(event, key)
    if (answer instanceof Promise) return answer.then((it) => it ?? event)
    if (answer !== undefined) return answer
    if (isForm) event.isForm = true
    if (id === undefined || ids === undefined) return event
    const claimed = ids.claim(id, event)
    return claimed instanceof Promise ? claimed.then((it) => use(event, it)) : use(event, claimed)
  }
  const use = (event: Event, claimed: IdVerdict): Event | Ended => {
    if (claimed === "first") return event
    if (claimed === "refilled") return refuse(REFILLED, event.request) ?? passUnverified(event)
    if (mode === "observe") {
      if (claimed !== "repeated") return event
      refuse(REPEATED, event.request)
      return passUnverified(event)
    }
    if (claimed === "repeated") {
      metrics.unverified("replayed", mode)
      return new Dropped("replayed", REPEATED.detail)
    }
    return claimed === "late"
      ? PENDING
      : new Rejected(503, "signed_ids_unavailable", "The event can't be verified now; send it again later.", {
          logDetail: claimed.message,
          headers: { "Retry-After": "5" },
        })
  }
  const conclude = (event: Event, verdict: Verdict): Event | Ended | Promise<Event | Ended> =>
    verdict.kind === "refused"
      ? (refuse(verdict, event.request) ?? passUnverified(event))
      : pass(event, verdict)

  /** Requests whose headers were not right, in mode observe. */
  const unverified = new WeakSet<RequestInfo>()
  const process = (event: Event): ReturnType<Processor> => {
    const answer = handshake?.unsigned?.(event)
    if (answer !== undefined) return answer
    if (verifier === NO_SECRET) lookAgain()
    if (verifier.needs === "headers")
      return unverified.has(event.request) ? passUnverified(event) : pass(event, BY_HEADERS)
    const verdict = verify(event.request, event.body)
    return verdict instanceof Promise ? verdict.then((it) => conclude(event, it)) : conclude(event, verdict)
  }

  const judge = (verdict: Verdict, request: RequestInfo): Admission => {
    if (verdict.kind === "verified") return undefined
    unverified.add(request)
    return refuse(verdict, request)
  }
  const admit = (request: RequestInfo): Admission | Promise<Admission> => {
    const answer = handshake?.byHeaders?.(request)
    if (answer !== undefined || request.method !== "POST" || verifier.needs === "body") return answer
    const verdict = verify(request, NO_BODY)
    return verdict instanceof Promise ? verdict.then((it) => judge(it, request)) : judge(verdict, request)
  }

  return Object.assign(process, {
    admit: verifier.needs === "headers" || handshake?.byHeaders !== undefined ? admit : undefined,
    methods: handshake?.methods ?? [],
    settled: ids?.settled,
    response: handshake?.response,
  })
}

/** What a verified request is known by. */
type Passed = Pick<Verified, "id" | "key" | "isForm">

const BY_HEADERS: Passed = { id: undefined, key: 0, isForm: false }
const REPEATED = new Refused("replayed", "an event of this signed id was accepted before")
const REFILLED = new Refused("replayed", "its signed id was used before, with another body")
const PENDING = new Rejected(
  503,
  "signed_id_pending",
  "Another event of the same id is still being stored; send this one again.",
  { headers: { "Retry-After": "5" } },
)

const NO_SECRET_YET = new Refused("no_match", "no secret is known: the provider's first request has not come")

/** Stands in until the provider has sent its secret. */
const NO_SECRET: Verifier = {
  needs: "body",
  signsUrl: false,
  toleranceMs: 0,
  verify: () => NO_SECRET_YET,
  explain: () => ({ ...NOTHING_READ, verdict: NO_SECRET_YET, toleranceMs: 0 }),
}

/** RFC 9110 wants a challenge in a 401. `Signature` is no registered scheme: senders know theirs. */
function challengeOf({ provider, username, jwks_url }: Values<typeof VERIFIER_OPTIONS>): string {
  if (username !== undefined) return 'Basic realm="webhooks", charset="UTF-8"'
  const isBearer = jwks_url !== undefined || ["jwt", "gcp-pubsub", "alertmanager"].includes(provider)
  return `${isBearer ? "Bearer" : "Signature"} realm="webhooks"`
}
