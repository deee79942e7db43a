// Hot path where pipelines verify: every request passes here.
import type { Outcome, Rejected } from "../../pipeline/outcome.ts"
import { costOf, tooMany } from "../answer.ts"
import type { ReceivedRequest } from "../received-request.ts"
import type { Route } from "../route.ts"
import { SMALL_BYTES, type InFlightBudget } from "./budget.ts"

/**
 * A pipeline's limit of each sender's unverified requests. Beyond it a request that may be signed is verified first where
 * that costs little, and refused only if it is not verified: senders that sign share addresses with others that do not.
 * Where verifying takes public-key work, the network or decompressing, a sender that was verified within a minute is exempt,
 * and others are refused unread.
 */
export class UnverifiedRequests {
  readonly #limit: NonNullable<Route["unverifiedLimit"]>
  readonly #quickCheck: Route["handler"]["quickCheck"]
  readonly #configured: string | undefined

  private constructor({ handler, limits }: Route, limit: NonNullable<Route["unverifiedLimit"]>) {
    this.#limit = limit
    this.#quickCheck = handler.quickCheck
    this.#configured = limits?.unverified
  }

  /** undefined: the pipeline does not verify senders, or they are not limited. */
  static of(route: Route): UnverifiedRequests | undefined {
    const { handler, unverifiedLimit } = route
    return handler.verifiesSenders && unverifiedLimit !== undefined
      ? new UnverifiedRequests(route, unverifiedLimit)
      : undefined
  }

  /** The refusal of a request by its sender and headers; one that is to be verified first is marked. */
  refuse(info: ReceivedRequest): Rejected | undefined {
    const refusal = this.#overLimit(info)
    if (refusal === undefined || this.#quickCheck?.isSigned(info.headers) !== true) return refusal
    info.overLimit = refusal
    return undefined
  }

  /** The refusal of a request before its body is read: beyond the limit it takes no room that others may need. */
  refuseUnread(info: ReceivedRequest, budget: InFlightBudget): Rejected | undefined {
    const isSmall = isSmallBody(info.headers.get("content-length"))
    // unknown once the connection has broken
    if (!isSmall) void info.remoteAddress
    if (info.overLimit === undefined || this.#quickCheck?.needsBody === false) return undefined
    return info.isEncoded || (!isSmall && budget.amplyFreeBytes <= 0) ? info.overLimit : undefined
  }

  /** The refusal of a request before its body is decompressed: others may have used the limit up meanwhile. */
  refuseEncoded(info: ReceivedRequest): Rejected | undefined {
    return this.#isVerifiedFirst(info) ? undefined : this.#overLimit(info)
  }

  /** Exempts the sender of a verified request, where those beyond the limit are not verified first. */
  verified(info: ReceivedRequest): void {
    if (!this.#isVerifiedFirst(info)) this.#limit.verified(info.remoteAddress)
  }

  /** Counts a request that was not verified, of the size of its body. @returns its outcome, beyond the limit the refusal */
  unverified(info: ReceivedRequest, outcome: Outcome, bytes: number): Outcome {
    if (info.overLimit !== undefined && outcome.kind === "rejected") return info.overLimit
    const cost = costOf(outcome, bytes, info.startedMs)
    if (cost > 0) this.#limit.refused(info.remoteAddress, cost)
    return outcome
  }

  #overLimit(info: ReceivedRequest): Rejected | undefined {
    if (!this.#limit.isWatching) return undefined
    const waitS = this.#limit.wait(info.remoteAddress)
    if (waitS <= 0) return undefined
    const detail = `${this.#configured}; this address has to wait ${waitS} s`
    return tooMany("unverified_rate_limited", waitS, detail)
  }

  #isVerifiedFirst({ isEncoded }: ReceivedRequest): boolean {
    return this.#quickCheck !== undefined && !(this.#quickCheck.needsBody && isEncoded)
  }
}

const isSmallBody = (contentLength: string | null): boolean =>
  contentLength !== null && Number(contentLength) <= SMALL_BYTES
