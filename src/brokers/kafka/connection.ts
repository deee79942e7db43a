import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { apiVersionsV1, apiVersionsV3, type Connection, protocolErrors } from "./client-library.ts"
import { within } from "../../clock/clock.ts"
import { type EndpointOptions, formatEndpoint, parseEndpoint } from "../../addresses/endpoint.ts"
import { HooklineError } from "../../errors.ts"
import { AdaptiveTimeout } from "./adaptive-timeout.ts"
import type { AccessTokens } from "./auth/access-tokens.ts"
import { authenticate, authentication, SASL_AUTHENTICATE, type Sasl } from "./auth/sasl.ts"
import type { CredentialTelemetry } from "./auth/credential-telemetry.ts"
import { TlsFiles } from "./auth/tls-files.ts"
import { BrokerSocket } from "./broker-socket.ts"
import { AUTHENTICATION_FAILED, BrokerFailure, errorCodeOf, reasonOf } from "./failure.ts"
import { hintOf } from "./hints.ts"
import type { KafkaOptions } from "./options.ts"
import { CONNECT_TIMEOUT_MS } from "./timeouts.ts"

/** What it takes to connect to any broker of a cluster. */
export interface KafkaClient {
  readonly clientId: string
  /** Brokers to begin with. */
  readonly bootstrap: readonly EndpointOptions[]
  /** Set until the files of the options could be read. @throws OptionError `config` while they can't be */
  readCredentials?: (() => void) | undefined
  /** undefined: connections are not encrypted. */
  readonly tlsFiles?: TlsFiles | undefined
  /** undefined: connections don't authenticate. */
  readonly sasl?: Sasl | undefined
  /** Where brokers are shown an access token; to be closed with the last connection. */
  readonly tokens?: AccessTokens | undefined
  readonly connect: typeof BrokerSocket.connect
  /** Of connecting with the TLS handshake; twice as long for the authentication. */
  readonly connectTimeout: AdaptiveTimeout
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
  const client = {
    clientId: options.client_id,
    bootstrap,
    connect: BrokerSocket.connect,
    connectTimeout: new AdaptiveTimeout(CONNECT_TIMEOUT_MS),
    hasAnswered: false,
  }
  if (!isUnreadable) return { ...client, ...credentials(options, telemetry) }
  const later: KafkaClient = {
    ...client,
    readCredentials: () =>
      void Object.assign(later, credentials(options, telemetry), { readCredentials: undefined }),
  }
  return later
}

function credentials(
  options: KafkaOptions,
  telemetry: CredentialTelemetry | undefined,
): Pick<KafkaClient, "tlsFiles" | "sasl" | "tokens"> {
  const { security_protocol: protocol } = options
  const tlsFiles =
    protocol === "ssl" || protocol === "sasl_ssl" ? new TlsFiles(options, telemetry) : undefined
  return { tlsFiles, ...authentication(options, telemetry) }
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
  readonly raw: BrokerSocket
  /** Whether it was closed from this side. */
  isDropped = false
  readonly #client: KafkaClient
  readonly #broker: string
  readonly #versions: Versions
  /** Set while it authenticates again. */
  #authenticating: Promise<void> | undefined
  #sessionEnd: Timer | undefined

  private constructor(client: KafkaClient, broker: string, raw: BrokerSocket, versions: Versions) {
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
    const { tlsFiles, sasl } = client
    const broker = formatEndpoint(endpoint)
    let raw: BrokerSocket | undefined
    try {
      const socket = { clientId: client.clientId, tls: tlsFiles?.current, requestTimeoutMs }
      raw = await client.connectTimeout.measure((connectTimeoutMs) =>
        client.connect(endpoint, { ...socket, connectTimeoutMs }),
      )
      const { apiKeys } = await versionsOf(raw)
      const versions = new Map(apiKeys.map((api) => [api.apiKey, api]))
      const connection = new KafkaConnection(client, broker, raw, versions)
      if (sasl !== undefined) await connection.#authenticate(sasl)
      return connection
    } catch (error) {
      raw?.close()
      if (token !== undefined && reasonOf(error) === AUTHENTICATION_FAILED)
        client.tokens?.rejected(token.value)
      const phase = raw === undefined || sasl !== undefined ? "connect" : "request"
      throw new BrokerFailure(broker, hintOf(error, client, phase), error)
    }
  }

  /** Whether requests may be sent: not while it authenticates again. */
  get open(): boolean {
    return this.raw.isOpen && this.#authenticating === undefined
  }

  /** Whether requests may be sent, once it has authenticated again where it is doing so. */
  async usable(): Promise<boolean> {
    await this.#authenticating
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
    if (client.hasAnswered) return this.choose(apis).api.async(asConnection(this.raw), ...given)
    try {
      const answer = await this.choose(apis).api.async(asConnection(this.raw), ...given)
      client.hasAnswered = true
      return answer
    } catch (error) {
      throw new BrokerFailure(this.#broker, hintOf(error, client, "request"), error)
    }
  }

  /** Drops the connection; requests under way fail. */
  close(): void {
    this.isDropped = true
    clearTimeout(this.#sessionEnd)
    this.raw.close()
  }

  async #authenticate(sasl: Sasl): Promise<void> {
    const late = (): never => {
      throw new Error("authentication timed out")
    }
    const authenticating = authenticate(asConnection(this.raw), sasl, this.choose(SASL_AUTHENTICATE))
    const sessionMs = await within(2 * this.#client.connectTimeout.ms, authenticating, late)
    if (sessionMs === 0 || !this.raw.isOpen) return
    this.#sessionEnd = setTimeout(() => {
      // how that fails is the connection's end, which its requests report
      this.#authenticating = this.#authenticate(sasl)
        .catch(() => this.close())
        .finally(() => (this.#authenticating = undefined))
    }, sessionMs * RENEWED_AT)
  }
}

async function versionsOf(socket: BrokerSocket): ReturnType<typeof apiVersionsV3.api.async> {
  const raw = asConnection(socket)
  try {
    return await apiVersionsV3.api.async(raw, NAME, VERSION)
  } catch (error) {
    if (errorCodeOf(error) !== ERROR.UNSUPPORTED_VERSION) throw error
    return apiVersionsV1.api.async(raw, NAME, VERSION)
  }
}

/** All that the functions of the client library use of a connection is its `send`. */
const asConnection = (socket: BrokerSocket): Connection => socket as unknown as Connection

/** The part of a session after which it is renewed. */
const RENEWED_AT = 0.8
const NAME = "hookline"
const VERSION = "1"
