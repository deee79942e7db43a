import { expect, test } from "bun:test"
import { Dropped } from "../event.ts"
import type { Route } from "../http/route.ts"
import { resolveSection } from "../config/resolve.ts"
import { Problems } from "../config/problems.ts"
import { WebHookSource } from "./webhook-source.ts"
import { componentContext } from "../../test/support/component-context.ts"

const context = componentContext({ pipeline: "hooks" })

/** The route for options given in code; throws what is wrong with them. */
function routeOf(given: { [option: string]: unknown }, its = context): Route {
  const problems = new Problems(undefined)
  const found = { address: "pipeline:hooks:WebHookSource", seed: undefined, given, baseDir: "/" }
  const { values } = resolveSection(WebHookSource, found, problems)
  problems.throwIfAny()
  return WebHookSource.create(values as never, its)(() => Promise.resolve(new Dropped("unwanted")))
}

test("without options it is the reference set-up", () => {
  const { handle: _, unverifiedLimit: __, ...route } = routeOf({})
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
  { content_types: ["application/json", "application/cloudevents+json"] },
  { response_status: 204 },
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
  [{ max_body_bytes: 0 }, "max_body_bytes"],
  [{ response_status: 302 }, "response_status"],
  [{ response_status: 204, response_body: "x" }, "response_body"],
  [{ response_content_type: "a\nb" }, "response_content_type"],
  [{ content_types: ["json"] }, "content_types"],
  [{ content_types: ["application/json; charset=utf-8"] }, "content_types"],
  [{ allow: ["10.0.0.0/33"] }, "allow"],
  [{ trusted_proxies: ["proxy.example"] }, "trusted_proxies"],
  [{ tls_certificate: "/c.pem" }, "tls_key"],
  [{ tls_key: "/k.pem" }, "tls_certificate"],
  [{ tls_client_ca: "/ca.pem" }, "tls_certificate"],
])("%j is told with its key", (given, key) => {
  expect(() => routeOf(given)).toThrow(key)
})

test("content types are compared in lower case", () => {
  expect(routeOf({ content_types: ["Application/JSON"] }).contentTypes).toEqual(["application/json"])
})

test("several processes divide the rate and the burst, and each lets at least one event in at once", () => {
  const taken = (given: { [option: string]: unknown }): number => {
    const { rateLimit } = routeOf(given, componentContext({ workers: 4 }))
    let count = 0
    while (rateLimit!.take() === 0) count++
    return count
  }
  expect(taken({ rate_limit: 0.001, rate_burst: 100 })).toBe(25)
  expect(taken({ rate_limit: 0.001, rate_burst: 7 })).toBe(1)
  expect(taken({ rate_limit: 0.001, rate_burst: 3 })).toBe(1)
})
