import type { Commits } from "../commits.ts"
import type { Groups } from "../groups/groups.ts"
import type { Log, RetentionLimits } from "../log.ts"
import type { LogView } from "../log-view.ts"
import type { ClientAuthentication } from "../security/authentication.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { Api, RequestOf, ResponseOf } from "../../kafka-protocol/fields.ts"

/** A host and a port. */
export interface BrokerAddress {
  readonly host: string
  readonly port: number
}

/** What requests are served from. */
export interface ServedBroker {
  readonly log: LogView
  readonly commits: Commits
  readonly groups: Groups
  retention: RetentionLimits
}

/** A request's surroundings. */
export interface Context extends ServedBroker {
  readonly version: number
  readonly clientId: string
  /** Its address, as Kafka shows it: `/127.0.0.1`. */
  readonly clientHost: string
  readonly authentication: ClientAuthentication
  /** Where clients reach this broker. */
  readonly advertised: BrokerAddress
  /** Aborts when the client's connection ends. */
  readonly signal: AbortSignal
}

/** The id of the only broker. */
export const NODE_ID = 1

/** Whether the epoch that a client knows (negative: it says none) is the log's: an error code. */
export function checkEpoch(known: number, { epoch }: Log): number {
  if (known < 0 || known === epoch) return ERROR.NONE
  return known < epoch ? ERROR.FENCED_LEADER_EPOCH : ERROR.UNKNOWN_LEADER_EPOCH
}

/** Whether the client may use a group, and groups are loaded: an error code. */
export function checkGroup(groupId: string, { groups, authentication }: Context): number {
  if (!authentication.mayUse(groupId)) return ERROR.GROUP_AUTHORIZATION_FAILED
  return groups.isLoaded ? ERROR.NONE : ERROR.COORDINATOR_LOAD_IN_PROGRESS
}

/** A request that is refused by the end of the connection. The message is the reason, for the log. */
export class NoAnswer extends Error {}

/** How an API is served: any version of it, from `least` where that is below the specification's. */
export interface Served {
  readonly api: Api
  readonly least?: number
  readonly serve: (request: never, context: Context) => object | Promise<object>
}

export const served = <A extends Api>(
  api: A,
  serve: (request: RequestOf<A>, context: Context) => ResponseOf<A> | Promise<ResponseOf<A>>,
  least?: number,
): Served => ({ api, serve: serve as Served["serve"], ...(least !== undefined && { least }) })
