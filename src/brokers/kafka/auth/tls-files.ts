import { readClientTls } from "../../../process/pem-files.ts"
import { stampOf } from "../../../process/file-watcher.ts"
import type { SocketOptions } from "../broker-socket.ts"
import type { CredentialTelemetry } from "./credential-telemetry.ts"
import type { KafkaOptions } from "../options.ts"

type Keys = NonNullable<SocketOptions["tls"]>
type TlsKeys = Pick<KafkaOptions, "ssl_ca_location" | "ssl_certificate_location" | "ssl_key_location">

/**
 * The CAs, and the client's certificate and key, that connections are opened with. Files that have changed are read again
 * before a connection is opened; until all of them are usable, as while they are being replaced, the ones before serve.
 */
export class TlsFiles {
  readonly #options: TlsKeys
  readonly #telemetry: CredentialTelemetry | undefined
  current: Keys
  /** Identifies the files as they were last read; undefined at the start. */
  #stamps: string | undefined

  /** @throws OptionError `config` of a file that can't be read, or is unusable */
  constructor(options: TlsKeys, telemetry: CredentialTelemetry | undefined) {
    this.#options = options
    this.#telemetry = telemetry
    this.current = read(options)
  }

  /** Reads the files again if they have changed. */
  async refresh(): Promise<void> {
    const {
      ssl_ca_location: ca,
      ssl_certificate_location: certificate,
      ssl_key_location: key,
    } = this.#options
    const files = [ca, certificate, key].filter((file) => file !== undefined)
    const stamps = (await Promise.all(files.map(stampOf))).join("\n")
    if (stamps === this.#stamps) return
    const isFirst = this.#stamps === undefined
    this.#stamps = stamps
    try {
      const now = read(this.#options)
      const isChanged = !Bun.deepEquals(now, this.current)
      this.current = now
      if (isChanged || !isFirst)
        this.#telemetry?.log.info({ files }, "certificates read again; new connections use them")
    } catch (error) {
      const reason = (error as Error).message
      this.#telemetry?.log.warn({ reason }, "changed certificates not usable; the previous ones stay in use")
      this.#telemetry?.metrics.incident("certificates_unusable")
    }
  }
}

const read = (options: TlsKeys): Keys =>
  readClientTls({
    ca: ["ssl_ca_location", options.ssl_ca_location],
    certificate: ["ssl_certificate_location", options.ssl_certificate_location],
    key: ["ssl_key_location", options.ssl_key_location],
  })
