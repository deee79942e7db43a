import type { ConnectionOptions as TlsOptions } from "node:tls"
import {
  apiVersionsV1,
  apiVersionsV3,
  type Connection,
  type ConnectionOptions,
  protocolErrors,
  type SASLOptions,
} from "@platformatic/kafka"
import { readCas, readCertificate, readPrivateKey } from "../../config/sections/pem-files.ts"
import type { KAFKA } from "../../config/sections/kafka-connection.ts"
import { type EndpointOptions, formatEndpoint, parseEndpoint } from "../../config/sections/endpoint.ts"
import type { Values } from "../../config/options/option-types.ts"
import { HooklineError } from "../../errors.ts"
import { BrokerFailure, errorCodeOf } from "./failure.ts"
import { hintOf } from "./hints.ts"
import { SYSTEM, type System } from "./system.ts"

/** The keys of `[connection:<id>]` for Kafka, resolved. */
export type KafkaOptions = Omit<
  Values<(typeof KAFKA)["options"]>,
  "delivery_timeout" | "spool" | "spool_max_bytes"
>

/** What it takes to connect to any broker of a cluster. */
export interface KafkaClient {
  readonly clientId: string
  /** Brokers to begin with. */
  readonly bootstrap: readonly EndpointOptions[]
  readonly security: Pick<ConnectionOptions, "tls" | "sasl">
  readonly system: System
  /** Set once a broker has answered: the configuration fits one. */
  hasAnswered: boolean
}

/** Reads certificates and credentials. @throws OptionError `config` of a file that can't be read, or is unusable */
export function kafkaClient(options: KafkaOptions): KafkaClient {
  tolerateUnknownCodes()
  const protocol = options.security_protocol
  const security: { tls?: TlsOptions; sasl?: SASLOptions } = {}
  if (protocol === "ssl" || protocol === "sasl_ssl") security.tls = readTls(options)
  if (options.sasl_mechanism !== undefined && protocol.startsWith("sasl_")) {
    const { sasl_mechanism: mechanism, sasl_username: username = "", sasl_password: password = "" } = options
    security.sasl = { mechanism, username, password }
  }
  // the option's form has been checked
  const bootstrap = options.bootstrap_servers.map((server) => parseEndpoint(server)!)
  return { clientId: options.client_id, bootstrap, security, system: SYSTEM, hasAnswered: false }
}

/**
 * Gives the client library a name for error codes that it does not know. It looks each code of a response up in this table,
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

function readTls({
  ssl_ca_location: caFile,
  ssl_certificate_location: file,
  ssl_key_location: keyFile,
}: KafkaOptions): TlsOptions {
  const ca = caFile && readCas("ssl_ca_location", caFile)
  const trusted = ca ? { ca } : {}
  if (file === undefined || keyFile === undefined) return trusted
  const of = "ssl_certificate_location"
  const [cert, certificate] = readCertificate(of, file)
  return { ...trusted, cert, key: readPrivateKey("ssl_key_location", keyFile, { certificate, of }) }
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
   * @throws BrokerFailure
   * @param requestTimeoutMs after which a request without an answer fails, and the connection with it
   */
  static async open(
    client: KafkaClient,
    endpoint: EndpointOptions,
    requestTimeoutMs: number,
  ): Promise<KafkaConnection> {
    const options = { ...client.security, requestTimeout: requestTimeoutMs }
    const broker = formatEndpoint(endpoint)
    let raw: Connection | undefined
    try {
      raw = await client.system.connect(client.clientId, endpoint, options)
      const { apiKeys } = await versionsOf(raw)
      return new KafkaConnection(client, broker, raw, new Map(apiKeys.map((api) => [api.apiKey, api])))
    } catch (error) {
      raw?.socket.destroy()
      throw new BrokerFailure(broker, hintOf(error, client, raw === undefined ? "connect" : "request"), error)
    }
  }

  /** Whether requests may be sent: not while it closes or authenticates again. */
  get open(): boolean {
    return this.raw.isConnected()
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
    this.raw.socket.destroy()
  }
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
