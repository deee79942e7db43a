import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createHash, createHmac } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { HANG_MS } from "../../../../test/support/hang.ts"
import { folderOfTests } from "../../../../test/support/hookline.ts"
import { kafkaOptions } from "../../../../test/support/kafka-options.ts"
import type { KafkaOptions } from "../options.ts"
import { mskIam } from "./msk-iam.ts"

const KEY = { id: "AKIAOBVIOUSLYFAKE", secret: "obviously-fake-secret", session: "obviously/fake+session==" }
const MSK = ["b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"]

const folder = folderOfTests()
const before = { ...process.env }
let tests = 0
beforeEach(() => {
  tests++
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name]
  // what the machine has of its own is not looked at
  process.env["AWS_EC2_METADATA_DISABLED"] = "true"
  // each test has its own file names, since AWS's library reads a file once
  process.env["AWS_CONFIG_FILE"] = join(folder.path, `config-${tests}`)
  process.env["AWS_SHARED_CREDENTIALS_FILE"] = join(folder.path, `credentials-${tests}`)
})
afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name]
  Object.assign(process.env, before)
})

const issuer = (more: Partial<KafkaOptions> = {}) =>
  mskIam(kafkaOptions(MSK, { sasl_mechanism: "AWS_MSK_IAM", ...more }))

/** The URL of a token. */
const urlOf = (token: string): URL => new URL(Buffer.from(token, "base64url").toString())

/** The signature as AWS describes it, https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html */
function signature(url: URL, secret: string): string {
  const encode = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`)
  const query = [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature" && name !== "User-Agent")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join("&")
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
  const canonical = ["GET", "/", query, `host:${url.host}`, "", "host", sha256("")].join("\n")
  const time = url.searchParams.get("X-Amz-Date")!
  const scope = url.searchParams.get("X-Amz-Credential")!.split("/").slice(1)
  const text = ["AWS4-HMAC-SHA256", time, scope.join("/"), sha256(canonical)].join("\n")
  const hmac = (key: Buffer, data: string): Buffer => createHmac("sha256", key).update(data).digest()
  return hmac(scope.reduce(hmac, Buffer.from(`AWS4${secret}`)), text).toString("hex")
}

async function expectSigned(
  key: { id: string; secret: string; session?: string },
  more?: Partial<KafkaOptions>,
) {
  const { value, lifetimeMs } = await issuer(more).issue()
  const url = urlOf(value)
  expect(Object.fromEntries(url.searchParams)).toEqual({
    Action: "kafka-cluster:Connect",
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": expect.stringMatching(
      new RegExp(`^${key.id}/\\d{8}/eu-west-1/kafka-cluster/aws4_request$`),
    ),
    "X-Amz-Date": expect.stringMatching(/^\d{8}T\d{6}Z$/),
    "X-Amz-Expires": `${lifetimeMs / 1000}`,
    "X-Amz-SignedHeaders": "host",
    ...(key.session !== undefined && { "X-Amz-Security-Token": key.session }),
    "X-Amz-Signature": signature(url, key.secret),
    "User-Agent": "hookline",
  })
  expect(url.origin).toBe("https://kafka.eu-west-1.amazonaws.com")
  return lifetimeMs
}

function inEnvironment(): void {
  process.env["AWS_ACCESS_KEY_ID"] = KEY.id
  process.env["AWS_SECRET_ACCESS_KEY"] = KEY.secret
}

/** What the container's and the instance's endpoints answer. */
const answer = (key = KEY, forS = 3600) => ({
  AccessKeyId: key.id,
  SecretAccessKey: key.secret,
  Token: key.session,
  Expiration: new Date(Date.now() + forS * 1000).toISOString(),
})

function serve(fetch: (request: Request) => Response | Promise<Response>) {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) }
}

describe("a token for Amazon MSK is signed with credentials", () => {
  test("of the environment, for 15 minutes", async () => {
    inEnvironment()
    expect(await expectSigned(KEY_WITHOUT_SESSION)).toBe(900_000)
    process.env["AWS_SESSION_TOKEN"] = KEY.session
    await expectSigned(KEY)
  })

  test("of a profile", async () => {
    writeFileSync(
      process.env["AWS_SHARED_CREDENTIALS_FILE"]!,
      `[other]\naws_access_key_id = ${KEY.id}\naws_secret_access_key = ${KEY.secret}\n`,
    )
    process.env["AWS_PROFILE"] = "other"
    await expectSigned(KEY_WITHOUT_SESSION)
  })

  test("of a web identity", async () => {
    const requests: URLSearchParams[] = []
    await using sts = serve(async (request) => {
      requests.push(new URLSearchParams(await request.text()))
      const { AccessKeyId, SecretAccessKey, Token, Expiration } = answer()
      return new Response(
        `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${AccessKeyId}</AccessKeyId><SecretAccessKey>${SecretAccessKey}</SecretAccessKey><SessionToken>${Token}</SessionToken><Expiration>${Expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
        { headers: { "Content-Type": "text/xml" } },
      )
    })
    writeFileSync(join(folder.path, "identity"), "obviously.fake.token")
    process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = join(folder.path, "identity")
    process.env["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/hookline"
    process.env["AWS_ENDPOINT_URL_STS"] = sts.url
    await expectSigned(KEY)
    expect(Object.fromEntries(requests[0]!)).toMatchObject({
      Action: "AssumeRoleWithWebIdentity",
      RoleArn: "arn:aws:iam::123456789012:role/hookline",
      WebIdentityToken: "obviously.fake.token",
    })
  })

  test("of a container", async () => {
    const authorizations: (string | null)[] = []
    await using container = serve((request) => {
      authorizations.push(request.headers.get("authorization"))
      return Response.json(answer())
    })
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${container.url}/credentials`
    process.env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "obviously-fake-authorization"
    await expectSigned(KEY)
    expect(authorizations).toEqual(["obviously-fake-authorization"])
  })

  test("of the instance's metadata, for as long as they last", async () => {
    await using metadata = serve((request) => {
      const { pathname } = new URL(request.url)
      if (pathname === "/latest/api/token" && request.method === "PUT") return new Response("session")
      if (request.headers.get("x-aws-ec2-metadata-token") !== "session")
        return new Response("", { status: 401 })
      if (pathname.endsWith("/security-credentials/")) return new Response("role")
      return Response.json({ Code: "Success", ...answer(KEY, 600) })
    })
    delete process.env["AWS_EC2_METADATA_DISABLED"]
    process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = metadata.url
    expect(await expectSigned(KEY)).toBeWithin(600_000 - HANG_MS, 601_000)
  })
})

const KEY_WITHOUT_SESSION = { id: KEY.id, secret: KEY.secret }

test("without credentials the reason is reported", async () => {
  await expect(issuer().issue()).rejects.toThrow(/^AWS credentials \(eu-west-1\): Could not load credentials/)
})

test.each([
  ["sasl_aws_region", ["localhost:9098"], "us-east-2", "", "us-east-2"],
  [
    "the names of a serverless cluster",
    ["boot-x.c1.kafka-serverless.us-east-1.amazonaws.com:9098"],
    undefined,
    "eu-west-1",
    "us-east-1",
  ],
  ["the names in China", ["b-1.x.y.c1.kafka.cn-north-1.amazonaws.com.cn:9098"], undefined, "", "cn-north-1"],
  ["AWS_REGION", ["localhost:9098"], undefined, "eu-west-3", "eu-west-3"],
])("the region is that of %s", async (_, servers, sasl_aws_region, ofEnvironment, region) => {
  inEnvironment()
  process.env["AWS_REGION"] = ofEnvironment
  const { value } = await mskIam(kafkaOptions(servers, { sasl_aws_region })).issue()
  expect(urlOf(value).host).toBe(`kafka.${region}.amazonaws.com`)
})

test("a region that nothing names is a problem of the configuration", () => {
  expect(() => mskIam(kafkaOptions(["localhost:9098"]))).toThrow(/^sasl_aws_region: .*set it$/)
})
