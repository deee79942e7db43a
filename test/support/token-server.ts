import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose"
import { VERSION } from "./kafka-jars.ts"

/** An OAuth token endpoint and the keys that its tokens are verified with; disposing of it stops it. */
export interface TokenServer extends AsyncDisposable {
  readonly tokenUrl: string
  readonly jwksUrl: string
  /** The requests for tokens, oldest first. */
  readonly requests: readonly TokenRequest[]
  /** How many were under way at once, at most. */
  most: number
  /** Whether a broker asked for the keys. */
  isVerified: boolean
  /** What the next requests get instead of a token. */
  refuses: { status: number; body: string } | undefined
  /** How the next tokens are made. */
  lifetimeS: number
  audience: string
}

export interface TokenRequest {
  readonly headers: Headers
  readonly body: URLSearchParams
}

export const ISSUER = "hookline-test-issuer"
export const AUDIENCE = "hookline-test-kafka"
const KEY_ID = "key-1"

/** Whether the release under test can verify signatures of tokens: from 3.1 (KIP-768). Older ones take unsigned tokens. */
const VERIFIES = Bun.semver.order(VERSION, "3.1.0") >= 0

/** Starts one whose tokens are JSON Web Tokens with the subject `alice`. */
export async function startTokenServer(): Promise<TokenServer> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: KEY_ID, alg: "RS256", use: "sig" }
  const requests: TokenRequest[] = []
  let open = 0
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === "/jwks") {
        running.isVerified = true
        return Response.json({ keys: [jwk] })
      }
      running.most = Math.max(running.most, ++open)
      try {
        requests.push({ headers: request.headers, body: new URLSearchParams(await request.text()) })
        if (running.refuses !== undefined)
          return new Response(running.refuses.body, { status: running.refuses.status })
        const { lifetimeS } = running
        const claims = VERIFIES ? new SignJWT({ scope: "kafka" }) : new UnsecuredJWT({ scope: "kafka" })
        claims
          .setIssuer(ISSUER)
          .setSubject("alice")
          .setAudience(running.audience)
          .setIssuedAt()
          .setExpirationTime(`${lifetimeS}s`)
        const header = { alg: "RS256", kid: KEY_ID }
        const access_token =
          claims instanceof UnsecuredJWT
            ? claims.encode()
            : await claims.setProtectedHeader(header).sign(privateKey)
        return Response.json({ access_token, token_type: "Bearer", expires_in: lifetimeS })
      } finally {
        open--
      }
    },
  })
  const running: TokenServer = {
    tokenUrl: `http://127.0.0.1:${server.port}/token`,
    jwksUrl: `http://127.0.0.1:${server.port}/jwks`,
    requests,
    most: 0,
    isVerified: false,
    refuses: undefined,
    lifetimeS: 300,
    audience: AUDIENCE,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
  return running
}

/** What a broker needs to take its tokens on a listener, and nothing else there. */
export function takesTokens(listener: string, { jwksUrl }: TokenServer, reauthenticateMs: number) {
  const own = `listener.name.${listener}`
  const module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
  const properties = {
    [`${own}.sasl.enabled.mechanisms`]: "OAUTHBEARER",
    [`${own}.oauthbearer.sasl.jaas.config`]: module,
    [`${own}.oauthbearer.connections.max.reauth.ms`]: `${reauthenticateMs}`,
  }
  // the validator is then the one of unsigned tokens
  if (!VERIFIES) return { jvm: [], properties }
  const handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
  return {
    jvm: [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${jwksUrl}`],
    properties: {
      ...properties,
      [`${own}.oauthbearer.sasl.server.callback.handler.class`]: handler,
      // the default of 4.1.0 verifies no signature
      "sasl.oauthbearer.jwt.validator.class":
        "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator",
      "sasl.oauthbearer.jwks.endpoint.url": jwksUrl,
      "sasl.oauthbearer.expected.audience": AUDIENCE,
      "sasl.oauthbearer.expected.issuer": ISSUER,
    },
  }
}
