import { clientTls } from "../admin/client-tls.ts"
import { formatEndpoint, reachable, type EndpointOptions } from "../addresses/endpoint.ts"
import { proxiedFetch } from "../outgoing/proxied-fetch.ts"

/** Where `[admin]` listens, and with which certificate. */
interface AdminPlace {
  readonly listen: EndpointOptions
  readonly tls_certificate?: string | undefined
}

/** The URL of the admin listener of a configuration, from this machine. */
export const adminUrl = ({ listen, tls_certificate }: AdminPlace): string =>
  `${tls_certificate === undefined ? "http" : "https"}://${formatEndpoint(reachable(listen))}`

/**
 * Asks the admin listener of a configuration, through no proxy. Over TLS its certificate must be trusted (the system's CAs,
 * those of NODE_EXTRA_CA_CERTS, one in the certificate's own file), and be the file's or one for the host.
 *
 * @throws Error of fetch, OptionError `config` of tls_certificate
 */
export function askAdmin(place: AdminPlace, path: string, init: BunFetchRequestInit): Promise<Response> {
  const { tls_certificate: file } = place
  const tls = file === undefined ? {} : { tls: clientTls(file) }
  return proxiedFetch(adminUrl(place) + path, { ...init, ...tls, proxy: false, redirect: "manual" })
}
