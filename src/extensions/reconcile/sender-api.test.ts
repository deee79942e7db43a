import { expect, test } from "bun:test"
import { jwtVerify } from "jose"
import { steadyMs } from "../../clock/clock.ts"
import { LISTINGS } from "./listings.ts"
import { SenderApi } from "./sender-api.ts"
import { newRsaKey } from "../../../test/support/rsa-keys.ts"

interface Case {
  readonly provider?: string
  readonly credentials?: string
  readonly answer: (request: Request) => Response | Promise<Response>
}

const RESEND_ID = "4dd369bc-aa82-4ff3-97de-514ae3000ee0"
const ENDPOINTS: { readonly [provider: string]: string } = {
  github: "repos/acme/app/hooks/7",
  resend: RESEND_ID,
}

/** A sender's API that answers so. */
function start({ provider = "github", credentials = "obviously-fake", answer }: Case) {
  const requests: string[] = []
  const times: number[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      requests.push(`${request.method} ${new URL(request.url).pathname}`)
      times.push(steadyMs())
      return answer(request)
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  const stopping = new AbortController()
  const access = { credentials, api: url, endpoint: ENDPOINTS[provider] }
  const api = new SenderApi(LISTINGS[provider]!, access, stopping.signal, {
    pauses: { first: 1, longest: 2 },
  })
  return { api, requests, times, stopping, url, [Symbol.asyncDispose]: () => server.stop(true) }
}

const status = (code: number, headers = {}): Response => new Response("[]", { status: code, headers })
const nowS = (): number => Math.floor(Date.now() / 1000)

test.each<[string, () => Response, "waits" | "unavailable" | "refused"]>([
  ["429 with Retry-After: 1", () => status(429, { "Retry-After": "1" }), "waits"],
  [
    "403 at the end of GitHub's limit",
    () => status(403, { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${nowS()}` }),
    "waits",
  ],
  ["429 for longer than a pass waits", () => status(429, { "Retry-After": "3600" }), "unavailable"],
  ["403", () => status(403), "refused"],
])("after %s a request %p", async (_, first, then) => {
  let answered = 0
  await using sender = start({ answer: () => (answered++ === 0 ? first() : status(200)) })
  const page = sender.api.page(0, undefined)
  if (then === "waits") {
    await page
    expect(sender.times[1]! - sender.times[0]!).toBeGreaterThan(950)
  } else {
    await expect(page).rejects.toMatchObject({ code: then })
    expect(sender.requests).toHaveLength(1)
  }
})

test("an API that fails is asked a bounded number of times", async () => {
  await using sender = start({ answer: () => status(500) })
  await expect(sender.api.page(0, undefined)).rejects.toMatchObject({ code: "unavailable" })
  expect(sender.requests).toHaveLength(5)
})

test("a next page at another host gets no request, and no credentials", async () => {
  await using sender = start({ answer: () => status(200) })
  await using other = start({ answer: () => status(200) })
  await expect(sender.api.page(0, `${other.url}/next`)).rejects.toThrow("next page at another host")
  expect([sender.requests, other.requests]).toEqual([[], []])
  await sender.api.page(0, `${sender.url}/next`)
  expect(sender.requests).toEqual(["GET /next"])
})

test("a redirect is not followed", async () => {
  await using other = start({ answer: () => status(200) })
  await using sender = start({ answer: () => Response.redirect(`${other.url}/`, 302) })
  await expect(sender.api.page(0, undefined)).rejects.toThrow()
  expect(other.requests).toEqual([])
})

const TOKEN = "POST /v1/oauth2/token"
const EVENTS = "GET /v1/notifications/webhooks-events"
test.each<[string, { lifeS: number; tokenFails?: number; refused?: string }, readonly string[]]>([
  ["exchanged once", { lifeS: 3600 }, [TOKEN, EVENTS, EVENTS]],
  ["renewed before it expires", { lifeS: 60 }, [TOKEN, EVENTS, TOKEN, EVENTS]],
  ["renewed once it is refused", { lifeS: 3600, refused: "token 1" }, [TOKEN, EVENTS, TOKEN, EVENTS, EVENTS]],
  ["asked for again after 500", { lifeS: 3600, tokenFails: 1 }, [TOKEN, TOKEN, EVENTS, EVENTS]],
])("PayPal's token is %s", async (_, { lifeS, tokenFails = 0, refused }, requests) => {
  let tokens = 0
  let failed = 0
  await using sender = start({
    provider: "paypal",
    credentials: "id:secret",
    answer(request) {
      const authorization = request.headers.get("authorization")!
      if (request.method === "GET")
        return status(
          /^Bearer token \d$/.test(authorization) && authorization !== `Bearer ${refused}` ? 200 : 401,
        )
      if (authorization !== `Basic ${btoa("id:secret")}`) return status(401)
      if (failed++ < tokenFails) return status(500)
      return Response.json({ access_token: `token ${++tokens}`, expires_in: lifeS })
    },
  })
  for (let page = 0; page < 2; page++) await sender.api.page(0, undefined)
  expect(sender.requests).toEqual([...requests])
})

test("a token that does not come keeps no process from stopping", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  await using sender = start({
    provider: "paypal",
    credentials: "id:secret",
    answer: () => (resolve(), new Promise<Response>(() => {})),
  })
  const page = sender.api.page(0, undefined)
  await promise
  sender.stopping.abort(new Error("stopping"))
  await expect(page).rejects.toThrow("stopping")
})

test.each([0, 2, -2])(
  "a GitHub App's token holds where GitHub's clock is ahead by %d hours",
  async (hours) => {
    const { privateKey, publicKey } = newRsaKey()
    const pem = privateKey.export({ type: "pkcs1", format: "pem" }) as string
    await using sender = start({
      credentials: `12345:${pem}`,
      async answer(request) {
        const currentDate = new Date(Date.now() + hours * 3_600_000)
        const token = request.headers.get("authorization")!.slice("Bearer ".length)
        const isRight = await jwtVerify(token, publicKey, {
          issuer: "12345",
          algorithms: ["RS256"],
          maxTokenAge: 600,
          currentDate,
        }).then(
          ({ payload }) => payload.exp! * 1000 <= currentDate.getTime() + 600_000,
          () => false,
        )
        return status(isRight ? 200 : 401, { Date: currentDate.toUTCString() })
      },
    })
    await sender.api.page(0, undefined)
    expect(sender.requests).toHaveLength(hours === 0 ? 1 : 2)
  },
)

test("an endpoint that only the sender's own page enables is a wrong use", async () => {
  await using sender = start({ provider: "paypal", credentials: "id:secret", answer: () => status(200) })
  await expect(sender.api.enable()).rejects.toMatchObject({ code: "usage" })
})

test("Resend lists, looks, replays and enables a webhook by the requests of its documentation", async () => {
  const said: string[] = []
  await using sender = start({
    provider: "resend",
    async answer(request) {
      const { pathname, search } = new URL(request.url)
      said.push(`${request.method} ${pathname}${search} ${await request.text()}`.trim())
      expect(request.headers.get("authorization")).toBe("Bearer obviously-fake")
      return Response.json({ status: "disabled", endpoint: "https://hooks.example.com/resend", events: null })
    },
  })
  await sender.api.page(0, undefined)
  await sender.api.page(0, "msg_1")
  expect(await sender.api.endpoint()).toMatchObject({
    isActive: false,
    url: "https://hooks.example.com/resend",
  })
  expect(await sender.api.redeliver("msg_2")).toBeUndefined()
  await sender.api.enable()
  expect(said).toEqual([
    `GET /webhooks/${RESEND_ID}/events?limit=100`,
    `GET /webhooks/${RESEND_ID}/events?limit=100&after=msg_1`,
    `GET /webhooks/${RESEND_ID}`,
    `POST /webhooks/${RESEND_ID}/events/msg_2/replay`,
    `PATCH /webhooks/${RESEND_ID} {"status":"enabled"}`,
  ])
})
