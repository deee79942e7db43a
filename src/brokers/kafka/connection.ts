import {
  apiVersionsV1,
  apiVersionsV3,
  type Connection,
  type ConnectionOptions,
  ConnectionStatuses,
  protocolErrors,
} from "@platformatic/kafka"
import { type EndpointOptions, formatEndpoint, parseEndpoint } from "../../config/sections/endpoint.ts"
import { HooklineError } from "../../errors.ts"
import type { AccessTokens } from "./auth/access-tokens.ts"
import { authentication } from "./auth/sasl.ts"
import type { CredentialTelemetry } from "./auth/credential-telemetry.ts"
import { TlsFiles } from "./auth/tls-files.ts"
import { AUTHENTICATION_FAILED, BrokerFailure, errorCodeOf, reasonOf } from "./failure.ts"
import { hintOf } from "./hints.ts"
import type { KafkaOptions } from "./options.ts"
import { SYSTEM, type System } from "./system.ts"

/** What it takes to connect to any broker of a cluster. */
export interface KafkaClient {
  readonly clientId: string
  /** Brokers to begin with. */
  readonly bootstrap: readonly EndpointOptions[]
  /** Set until the files of the options could be read. @throws OptionError `config` while they can't be */
  readCredentials?: (() => void) | undefined
  readonly security: Pick<ConnectionOptions, "tls" | "sasl">
  /** What `security.tls` has. */
  readonly tlsFiles?: TlsFiles
  /** Where brokers are shown an access token; to be closed with the last connection. */
  readonly tokens?: AccessTokens
  readonly system: System
  /** Set once a broker has answered: the configuration fits one. */
  hasAnswered: boolean
}

/**
 * Reads certificates and credentials. Asks for no access token yet.
 *
 * @param isUnreadable they could not be read a moment ago: each connection tries it first, until they can
 * @throws OptionError `config` of a file that can't be read, or is unusable
 */
export function kafkaClient(
  options: KafkaOptions,
  telemetry?: CredentialTelemetry,
  isUnreadable = false,
): KafkaClient {
  tolerateUnknownCodes()
  // the option's form has been checked
  const bootstrap = options.bootstrap_servers.map((server) => parseEndpoint(server)!)
  const client = { clientId: options.client_id, bootstrap, system: SYSTEM, hasAnswered: false }
  if (!isUnreadable) return { ...client, ...credentials(options, telemetry) }
  const later: KafkaClient = {
    ...client,
    security: {},
    readCredentials: () =>
      void Object.assign(later, credentials(options, telemetry), { readCredentials: undefined }),
  }
  return later
}

function credentials(
  options: KafkaOptions,
  telemetry: CredentialTelemetry | undefined,
): Pick<KafkaClient, "security" | "tlsFiles" | "tokens"> {
  const { security_protocol: protocol } = options
  const tlsFiles =
    protocol === "ssl" || protocol === "sasl_ssl" ? new TlsFiles(options, telemetry) : undefined
  const { sasl, tokens } = authentication(options, SYSTEM, telemetry)
  const known = sasl === undefined ? {} : { sasl }
  const asked = tokens && { tokens }
  if (tlsFiles === undefined) return { ...asked, security: known }
  const security = {
    ...known,
    get tls() {
      return tlsFiles.current
    },
  }
  return { ...asked, security, tlsFiles }
}

/**
 * Gives the client library a name for error codes that it does not know. It finds each code of a response in this table,
 * and one that was not found there would cost the response, with what it says of everything else.
 */
function tolerateUnknownCodes(): void {
  const value = {
    id: "UNKNOWN_ERROR_CODE",
    message: "an error code that this client does not know",
    canRetry: false,
  }
  Object.defineProperty(protocolErrors, "undefined", { value, configurable: true })
}

/** An API of the client library, in one version. */
interface Api<Arguments extends unknown[], Response> {
  readonly key: number
  readonly version: number
  readonly async: (connection: Connection, ...given: Arguments) => Promise<Response>
}

/** The oldest and the newest version of each API, by its key, that a broker speaks. */
type Versions = ReadonlyMap<number, { readonly minVersion: number; readonly maxVersion: number }>

/** A connection to one broker, authenticated, with the versions it speaks. To be closed. */
export class KafkaConnection {
  readonly raw: Connection
  /** Whether it was closed from this side. */
  isDropped = false
  readonly #client: KafkaClient
  readonly #broker: string
  readonly #versions: Versions

  private constructor(client: KafkaClient, broker: string, raw: Connection, versions: Versions) {
    this.#client = client
    this.#broker = broker
    this.raw = raw
    this.#versions = versions
  }

  /**
   * @throws BrokerFailure, TokenFailure, OptionError `config` of a file that can't be read yet
   * @param requestTimeoutMs after which a request without an answer fails, and the connection with it
   */
  static async open(
    client: KafkaClient,
    endpoint: EndpointOptions,
    requestTimeoutMs: number,
  ): Promise<KafkaConnection> {
    client.readCredentials?.()
    const token = await client.tokens?.get()
    await client.tlsFiles?.refresh()
    const options = { ...client.security, requestTimeout: requestTimeoutMs }
    const broker = formatEndpoint(endpoint)
    let raw: Connection | undefined
    try {
      raw = await client.system.connect(client.clientId, endpoint, options)
      const { apiKeys } = await versionsOf(raw)
      return new KafkaConnection(client, broker, raw, new Map(apiKeys.map((api) => [api.apiKey, api])))
    } catch (error) {
      if (raw !== undefined) drop(raw)
      if (token !== undefined && reasonOf(error) === AUTHENTICATION_FAILED)
        client.tokens?.rejected(token.value)
      throw new BrokerFailure(broker, hintOf(error, client, raw === undefined ? "connect" : "request"), error)
    }
  }

  /** Whether requests may be sent: not while it closes or authenticates again. */
  get open(): boolean {
    return this.raw.isConnected()
  }

  /** Whether requests may be sent, once it has authenticated again where it is doing so. */
  async usable(): Promise<boolean> {
    // how that fails is the connection's end, which its requests report
    if (this.raw.status === ConnectionStatuses.REAUTHENTICATING) await this.raw.ready().catch(() => undefined)
    return this.open
  }

  /** The first of some versions of an API that the broker speaks. */
  choose<A extends { readonly api: { readonly key: number; readonly version: number } }>(
    apis: readonly A[],
  ): A {
    const chosen = apis.find(({ api }) => {
      const range = this.#versions.get(api.key)
      return range !== undefined && range.minVersion <= api.version && api.version <= range.maxVersion
    })
    if (chosen === undefined)
      throw new HooklineError("unavailable", "the broker is too old or too new for this client")
    return chosen
  }

  /** Sends a request in the first of some versions that the broker speaks. @throws BrokerFailure, of the first ones */
  async request<Arguments extends unknown[], Response>(
    apis: readonly { readonly api: Api<Arguments, Response> }[],
    ...given: Arguments
  ): Promise<Response> {
    const client = this.#client
    if (!this.open) await this.usable()
    if (client.hasAnswered) return this.choose(apis).api.async(this.raw, ...given)
    try {
      const answer = await this.choose(apis).api.async(this.raw, ...given)
      client.hasAnswered = true
      return answer
    } catch (error) {
      throw new BrokerFailure(this.#broker, hintOf(error, client, "request"), error)
    }
  }

  /** Drops the connection; requests under way fail. */
  close(): void {
    this.isDropped = true
    drop(this.raw)
  }
}

/** Ends a connection at once, with its timer for authenticating again. */
function drop(raw: Connection): void {
  void raw.close()
  raw.socket.destroy()
}

async function versionsOf(raw: Connection): ReturnType<typeof apiVersionsV3.api.async> {
  try {
    return await apiVersionsV3.api.async(raw, NAME, VERSION)
  } catch (error) {
    if (errorCodeOf(error) !== UNSUPPORTED_VERSION) throw error
    return apiVersionsV1.api.async(raw, NAME, VERSION)
  }
}

const NAME = "hookline"
const VERSION = "1"
const UNSUPPORTED_VERSION = 35
