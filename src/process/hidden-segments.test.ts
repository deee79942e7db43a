import { expect, test } from "bun:test"
import { hideSegments, withoutHidden } from "./hidden-segments.ts"

hideSegments("/in/s3cret-segment/x", ["s3cret-segment"])
hideSegments("/hooks/v1-t0ken.a/*", ["t0ken.a"])
hideSegments("/caf\u00e9-s3cret", ["/caf\u00e9-s3cret"])
hideSegments("/plain", [])

test.each([
  ["/in/s3cret-segment/x", "/in/…/x"],
  ["http://0.0.0.0:8080/in/s3cret-segment", "http://0.0.0.0:8080/in/…"],
  ["https://h/in/s3cret-segment?a=1", "https://h/in/…?a=1"],
  ['{"path":"/in/s3cret-segment","x":1}', '{"path":"/in/…","x":1}'],
  ["POST /in/s3cret-segment from 192.0.2.7, /in/s3cret-segment/", "POST /in/… from 192.0.2.7, /in/…/"],
  ["/hooks/v1-t0ken.a/more", "/hooks/…/more"],
  ["/hooks/v1-t0kenxa/more", "/hooks/v1-t0kenxa/more"],
  ["/in/s3cret-segment-of-another", "/in/s3cret-segment-of-another"],
  ["/caf%C3%A9-s3cret", "/…"],
  ["/plain", "/plain"],
])("%s is printed as %s", (text, shown) => {
  expect(withoutHidden(text)).toBe(shown)
})
