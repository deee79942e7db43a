import { within } from "../../../clock/clock.ts"
import { parseEndpoint } from "../../../addresses/endpoint.ts"
import { OptionError } from "../../../errors.ts"
import { fetchFailure, proxiedFetch } from "../../../outgoing/proxied-fetch.ts"
import { missingPackage } from "../../../process/missing-package.ts"
import type { KafkaOptions } from "../options.ts"
import { AWS_CREDENTIALS_TIMEOUT_MS } from "../timeouts.ts"
import { type AccessToken, TokenFailure, type TokenIssuer } from "./access-tokens.ts"
import type { defaultProvider, HttpRequest } from "./aws-sdk.ts"

/**
 * Tokens for the IAM authentication of Amazon MSK: a signed request to connect, as AWS's own signers make it,
 * https://github.com/aws/aws-msk-iam-sasl-signer-js. The credentials are those that every AWS SDK would find: environment,
 * profile and its roles, web identity, container, instance metadata.
 *
 * @throws OptionError `config` without a region
 */
export function mskIam(options: KafkaOptions): TokenIssuer {
  const region = regionOf(options)
  let credentials: Promise<() => Promise<Credentials>> | undefined
  const issue = async (): Promise<AccessToken> => {
    // on demand: few connections need them
    credentials ??= findCredentials(region)
    const found = (await credentials)()
    return sign(await within(AWS_CREDENTIALS_TIMEOUT_MS, found, noAnswer), region)
  }
  const name = `AWS credentials (${region})`
  return {
    name,
    issue: () =>
      issue().catch((cause: unknown) => {
        throw new TokenFailure(`${name}: ${missingPackage(cause) ?? fetchFailure(cause)}`, { cause })
      }),
  }
}

type Credentials = Awaited<ReturnType<ReturnType<typeof defaultProvider>>>

/** The SDK's own client ignores proxies. Containers and instances ask without it, at addresses that only they reach. */
async function findCredentials(region: string): Promise<() => Promise<Credentials>> {
  const { buildQueryString, defaultProvider, HttpResponse } = await import("./aws-sdk.ts")
  const handle = async (request: HttpRequest, { abortSignal }: { abortSignal?: AbortSignal } = {}) => {
    const { protocol, hostname, port, path, query, method, headers, body } = request
    const url = `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}?${buildQueryString(query)}`
    const answer = await proxiedFetch(url, {
      method,
      headers,
      body: body as string,
      signal: abortSignal ?? null,
    })
    const response = { statusCode: answer.status, headers: Object.fromEntries(answer.headers) }
    return { response: new HttpResponse({ ...response, body: answer.body }) }
  }
  return defaultProvider({ clientConfig: { region, requestHandler: { handle } } })
}

/** The configured region, else the one in MSK's broker names (`b-1.x.y.c2.kafka.eu-west-1.amazonaws.com`), else AWS's default. */
function regionOf({ sasl_aws_region: given, bootstrap_servers: servers }: KafkaOptions): string {
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env
  const named = servers.map((it) => {
    const host = parseEndpoint(it)?.host ?? ""
    return /\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/.exec(host)?.[1]
  })
  const region = given ?? named.find((it) => it !== undefined) ?? (AWS_REGION || AWS_DEFAULT_REGION)
  if (region === undefined || region === "")
    throw new OptionError(
      "config",
      "sasl_aws_region",
      "the bootstrap servers' names have no AWS region; set it",
    )
  return region
}

function noAnswer(): never {
  throw new Error("no answer")
}

/** The token is the URL of a presigned GET, in base64url. */
async function sign(credentials: Credentials, region: string): Promise<AccessToken> {
  const { Sha256, SignatureV4 } = await import("./aws-sdk.ts")
  const hostname = `kafka.${region}.amazonaws.com`
  const leftS = ((credentials.expiration?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now()) / 1000
  const expiresIn = Math.floor(Math.min(leftS, MAX_LIFETIME_S))
  if (expiresIn <= 0) throw new Error("the credentials have expired")
  const service = "kafka-cluster"
  const signer = new SignatureV4({ service, region, credentials, sha256: Sha256, applyChecksum: false })
  const request = {
    method: "GET",
    protocol: "https:",
    hostname,
    path: "/",
    headers: { host: hostname },
    query: { Action: "kafka-cluster:Connect" },
  }
  const { query } = await signer.presign(request, { expiresIn })
  // next to what is signed, for the broker's log
  const signed = { ...query, "User-Agent": "hookline" } as { readonly [name: string]: string }
  const url = `https://${hostname}/?${new URLSearchParams(signed)}`
  return { value: Buffer.from(url).toString("base64url"), lifetimeMs: expiresIn * 1000 }
}

/** MSK takes none that lives longer. */
const MAX_LIFETIME_S = 900
