import { rootCertificates } from "node:tls"
import { proxiedFetch } from "../../outgoing/proxied-fetch.ts"
import type { Fetcher } from "./fetcher.ts"

/** The network itself. */
export const NETWORK: Fetcher = { fetch: proxiedFetch, rootCertificates }
