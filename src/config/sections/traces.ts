import { custom, notA, WrongValue } from "../options/option.ts"
import { integer, list, number, oneOf, text } from "../options/option-types.ts"
import { defineSection } from "../options/section.ts"

const ENDPOINT_FORM = "an http:// or https:// URL without user and password, or off"

/** The OTLP/HTTP protocol's path, where an endpoint has none. */
const PATH = "/v1/traces"

/** The URL that traces are sent to; undefined: not of the option's form. */
function parseEndpoint(given: string): string | undefined {
  if (given.toLowerCase() === "off") return "off"
  const url = URL.parse(given)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") return undefined
  if (url.pathname === "/") url.pathname = PATH
  return url.href
}

const pair = (what: string, accepts: (name: string, value: string) => boolean) =>
  text({
    form: `${what}, = and a value`,
    accepts: (given) => {
      const split = splitPair(given)
      return split !== undefined && accepts(...split)
    },
    doc: "",
  })

/** A name and its value, percent-decoded, as the variables of OpenTelemetry spell them. */
export function splitPair(given: string): [name: string, value: string] | undefined {
  const [, name, value] = /^([^=\s]+)\s*=\s*(.+)$/.exec(given) ?? []
  if (name === undefined || value === undefined) return undefined
  try {
    return [name, decodeURIComponent(value)]
  } catch {
    return undefined
  }
}

function isHttpHeader(name: string, value: string): boolean {
  try {
    return new Headers({ [name]: value }).has(name)
  } catch {
    return false
  }
}

/** OpenTelemetry traces. */
export const TRACES = defineSection({
  title: "traces",
  aliases: [],
  summary: "OpenTelemetry traces by OTLP; see traces.md.",
  options: {
    endpoint: custom<string, { doc: string; default: string }>(
      ENDPOINT_FORM,
      {
        default: "off",
        doc: "Where spans are sent, by OTLP over HTTP with protobuf: a collector's URL, such as `http://localhost:4318`. Without a path it gets `/v1/traces`. `off`: nothing is traced.",
      },
      (value) => {
        const endpoint = parseEndpoint(value)
        if (endpoint === undefined) throw notA(ENDPOINT_FORM, value)
        return endpoint
      },
      (given) => {
        const endpoint = typeof given === "string" ? parseEndpoint(given) : undefined
        if (endpoint === undefined) throw new WrongValue(`is not ${ENDPOINT_FORM}`)
        return endpoint
      },
    ),
    headers: list(pair("a header's name", isHttpHeader), {
      optional: true,
      secret: true,
      doc: "Headers for the collector, such as `Authorization=Bearer%20<token>`; values are percent-decoded, as those of `OTEL_EXPORTER_OTLP_HEADERS`.",
    }),
    parent: oneOf(["continue", "link"], {
      default: "continue",
      doc: "How a request's `traceparent` is used. `continue`: as the parent of its spans; its sampled flag decides whether they are recorded. `link`: it is not trusted; each request begins a trace of its own, with a link to the sender's.",
    }),
    sample: number({
      min: 0,
      max: 1,
      default: "1",
      doc: "The share of requests that are traced, from 0 to 1, where no parent decides.",
    }),
    max_traces_per_second: integer({
      min: 1,
      max: 100_000,
      default: "100",
      doc: "Traced requests a second at most, whatever senders ask for; further ones are not traced.",
    }),
    service_name: text({ default: "hookline", doc: "`service.name` of the spans." }),
    resource: list(
      pair("an attribute's name", () => true),
      {
        optional: true,
        doc: "Further attributes of the resource, such as `deployment.environment.name=production`; values are percent-decoded, as those of `OTEL_RESOURCE_ATTRIBUTES`.",
      },
    ),
  },
})
