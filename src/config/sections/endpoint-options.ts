import { custom, notA, WrongValue, type Declared } from "../options/option.ts"
import { formatEndpoint, parseEndpoint, type EndpointOptions } from "../../addresses/endpoint.ts"

const FORM = "host:port (an IPv6 address in brackets)"

/** An option whose value is host:port. */
export const endpoint = <D extends Declared>(declared: D) =>
  custom<EndpointOptions, D, EndpointOptions | string>(
    FORM,
    declared,
    (value) => {
      const parsed = parseEndpoint(value)
      if (parsed === undefined) throw notA(FORM, value)
      return parsed
    },
    (given) => fromCode(given, '"host:port" or { host, port }'),
  )

/** An option whose value is host:port, or `off`. */
export const endpointOrOff = <D extends Declared>(declared: D) =>
  custom<EndpointOptions | "off", D, EndpointOptions | string>(
    `${FORM}, or off`,
    declared,
    (value) => {
      const parsed = value.toLowerCase() === "off" ? "off" : parseEndpoint(value)
      if (parsed === undefined) throw notA(`${FORM}, or off`, value)
      return parsed
    },
    (given) => (given === "off" ? given : fromCode(given, '"host:port", { host, port } or "off"')),
  )

function fromCode(given: EndpointOptions | string, form: string): EndpointOptions {
  const parsed = typeof given === "string" ? parseEndpoint(given) : given
  if (typeof parsed?.host === "string" && parseEndpoint(formatEndpoint(parsed)) !== undefined) return parsed
  throw new WrongValue(`is not ${form}`)
}
