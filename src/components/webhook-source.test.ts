import { expect, test } from "bun:test"
import { composePipeline } from "../pipeline/compose.ts"
import { Accepted } from "../pipeline/outcome.ts"
import { RequestLog } from "../telemetry/request-log.ts"
import type { Route } from "../http/route.ts"
import { resolveSection } from "../config/options/resolve.ts"
import { Problems } from "../config/file/problems.ts"
import { webHookSource } from "./webhook-source.ts"
import { componentContext } from "../../test/support/component-context.ts"
import { Deadlines } from "../clock/deadlines.ts"

const context = componentContext({ pipeline: "hooks" })

const HANDLER = composePipeline({
  pipeline: "hooks",
  processors: [],
  publish: () => Promise.resolve(new Accepted({ partition: 0, offset: 0 })),
  deadlines: new Deadlines(5000),
  metrics: context.metrics,
  log: new RequestLog(context.log),
  partsLog: context.log,
})

/** The route for options given in code; throws what is wrong with them. */
function routeOf(given: { [option: string]: unknown }, its = context): Route {
  const problems = new Problems(undefined)
  const found = { address: "pipeline:hooks:WebHookSource", section: undefined, inCode: given, baseDir: "/" }
  const { values } = resolveSection(webHookSource, found, problems)
  problems.throwIfAny()
  return webHookSource.create(values as never, its)(HANDLER)
}

test("without options it is the reference set-up", () => {
  const { handler: _, unverifiedLimit: __, limits: ___, ...route } = routeOf({})
  expect(route).toEqual({
    pipeline: "hooks",
    host: "0.0.0.0",
    port: 8080,
    path: "/webhook",
    maxBodyBytes: 1024 * 1024,
    contentTypes: undefined,
    allows: undefined,
    trustsProxy: undefined,
    tls: undefined,
    deliveryTimeoutMs: context.deliveryTimeoutMs,
    response: { status: 200, body: "", contentType: undefined },
  })
})

test.each([
  { path: "/" },
  { path: "/*" },
  { path: "/a/b-c_d.e~f" },
  { path: "/a/*" },
  { host: "::1" },
  { host: "localhost" },
  { allow: ["10.0.0.0/8", "::1"] },
  { contentTypes: ["application/json", "application/cloudevents+json"] },
  { responseStatus: 204 },
  { probe: 204 },
])("%j is right", (given) => {
  expect(routeOf(given)).toBeObject()
})

test.each([
  [{ path: "webhook" }, "path"],
  [{ path: "/a?b" }, "path"],
  [{ path: "/a#b" }, "path"],
  [{ path: "/a b" }, "path"],
  [{ path: "/a*" }, "path"],
  [{ path: "/*/a" }, "path"],
  [{ host: "[::1]" }, "host"],
  [{ host: "http://a" }, "host"],
  [{ port: 65_536 }, "port"],
  [{ maxBodyBytes: 0 }, "maxBodyBytes"],
  [{ responseStatus: 302 }, "responseStatus"],
  [{ probe: 199 }, "probe"],
  [{ probe: 404 }, "probe"],
  [{ responseStatus: 204, responseBody: "x" }, "responseBody"],
  [{ responseContentType: "a\nb" }, "responseContentType"],
  [{ contentTypes: ["json"] }, "contentTypes"],
  [{ contentTypes: ["application/json; charset=utf-8"] }, "contentTypes"],
  [{ allow: ["10.0.0.0/33"] }, "allow"],
  [{ trustedProxies: ["proxy.example"] }, "trustedProxies"],
  [{ tlsCertificate: "/c.pem" }, "tlsKey"],
  [{ tlsKey: "/k.pem" }, "tlsCertificate"],
  [{ tlsClientCa: "/ca.pem" }, "tlsCertificate"],
])("%j is told with its key", (given, key) => {
  expect(() => routeOf(given)).toThrow(key)
})

test("the status of probes is the route's; without one there is none", () => {
  expect([routeOf({ probe: 204 }).probeStatus, routeOf({}).probeStatus]).toEqual([204, undefined])
})

test("content types are compared in lower case", () => {
  expect(routeOf({ contentTypes: ["Application/JSON"] }).contentTypes).toEqual(["application/json"])
})
