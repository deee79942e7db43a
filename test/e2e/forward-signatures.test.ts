import { expect, test } from "bun:test"
import { temporaryFolder } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import type { ProviderSdk, Signed } from "../support/provider-sdks.ts"
import { Receiver } from "../support/receiver.ts"
import { hasTestPackages } from "../support/tools.ts"

const { PROVIDER_SDKS } = hasTestPackages()
  ? await import("../support/provider-sdks.ts")
  : { PROVIDER_SDKS: {} }

const PIPELINE = `[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
path = /hooks
[pipeline:hooks:BrokerSink]
topic = hooks
`

/** What the receiver got first, as an SDK is given it. */
async function got(receiver: Receiver): Promise<Signed> {
  await receiver.count(1)
  const { headers, body } = receiver.all[0]!
  return { url: receiver.url, headers: Object.fromEntries(headers), body: body.toString() }
}

/** Those that sign a JSON body, and not the URL; one for each provider. */
const SDKS = new Map(
  Object.values(PROVIDER_SDKS).flatMap((sdk) =>
    sdk.body === undefined && sdk.signsUrl === undefined && sdk.keys(1).verifier.secret !== undefined
      ? [[sdk.provider, sdk] as const]
      : [],
  ),
)

test.skipIf(!hasTestPackages())(
  "what is signed as a provider does is accepted by the provider's own library, and not with another secret",
  async () => {
    using folder = temporaryFolder()
    await using receivers = new AsyncDisposableStack()
    const targets = [...SDKS].map(([name, sdk]) => ({ name, sdk, receiver: receivers.use(new Receiver()) }))
    const sections = targets.map(
      ({ name, sdk, receiver }) =>
        `[forward:${name}]\nfrom = log/hooks\nurl = ${receiver.url}\nsign = provider\nprovider = ${name}\nsecret = ${sdk.keys(1).secret}\n`,
    )
    const headers = Object.assign({}, ...targets.map(({ sdk }) => sdk.headers ?? {})) as Signed["headers"]
    // without a provider only the headers of this option are kept
    const configuration = `${PIPELINE}headers = *\n${sections.join("")}`
    await using service = await startInProcess(configuration, { folder: folder.path })
    const { status } = await fetch(service.urls["hooks"]!, {
      method: "POST",
      headers,
      body: '{"id":"evt_1","object":"event","n":1}',
    })
    expect(status).toBe(200)
    expect(targets.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["stripe", "github", "slack", "svix", "shopify"]),
    )
    for (const { name, sdk, receiver } of targets) {
      const signed = await got(receiver)
      expect([name, await accepts(sdk, signed, 1)]).toEqual([name, true])
      expect([name, await accepts(sdk, signed, 2)]).toEqual([name, false])
    }
  },
)

async function accepts(sdk: ProviderSdk, signed: Signed, key: number): Promise<boolean> {
  try {
    return await sdk.accepts(signed, sdk.keys(key))
  } catch {
    // most of them throw what they refuse
    return false
  }
}

test.skipIf(!hasTestPackages()).each(["github", "stripe", "svix", "slack", "shopify"])(
  "with as_received the library of %s accepts what came",
  async (name) => {
    const sdk = SDKS.get(name)!
    using folder = temporaryFolder()
    await using receiver = new Receiver()
    const keys = sdk.keys(1)
    const configuration = `${PIPELINE}[pipeline:hooks:Verifier]
provider = ${name}
secret = ${keys.secret}
[pipeline:hooks:Enricher]
value = received
[forward:app]
from = log/hooks
url = ${receiver.url}
sign = as_received
headers =
  X-Team: a, b
`
    await using service = await startInProcess(configuration, { folder: folder.path })
    const url = service.urls["hooks"]!
    const body = '{ "id": "evt_1", "object":"event", "source": "theirs" }'
    const { headers } = await sdk.sign(
      { url, headers: { "content-type": "application/json; charset=utf-8" }, body },
      keys,
    )
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200)
    const signed = await got(receiver)
    expect(signed).toMatchObject({
      body,
      headers: { "content-type": "application/json; charset=utf-8", "x-team": "a, b" },
    })
    expect(await accepts(sdk, signed, 1)).toBe(true)
  },
)
