import { formatEndpoint, isLoopback, parseEndpoint, type Endpoint } from "./endpoint.ts"
import { custom, notA } from "./option.ts"
import { list, text } from "./options.ts"
import { defineSection } from "./section.ts"

const LISTEN_FORM = "host:port (an IPv6 address in brackets), or off"

const hostName = text({
  pattern: /^\w(?:[\w.-]*\w)?$/,
  form: "a host name, without a port",
  doc: "A host name.",
})

/** The admin listener: probes and metrics. */
export const ADMIN = defineSection({
  title: "admin",
  aliases: [],
  summary: "The listener for `/healthz`, `/readyz` and `/metrics`.",
  options: {
    listen: custom<Endpoint | "off", { doc: string; default: string }>(
      LISTEN_FORM,
      {
        default: "127.0.0.1:9464",
        doc: "Where it listens; `off` turns it off. Elsewhere than on a loopback address it wants `token`.",
      },
      (value) => {
        const endpoint = value.toLowerCase() === "off" ? "off" : parseEndpoint(value)
        if (endpoint === undefined) throw notA(LISTEN_FORM, value)
        return endpoint
      },
      (value) =>
        value === "off" ||
        (typeof value?.host === "string" && parseEndpoint(formatEndpoint(value)) !== undefined)
          ? undefined
          : 'is not a { host, port }, or "off"',
    ),
    token: text({
      optional: true,
      secret: true,
      doc: "What callers must present as `Authorization: Bearer <token>`. Without it anyone who reaches the listener may call it.",
    }),
    hosts: list(hostName, {
      optional: true,
      doc: "Names that the listener is called by, beside `localhost` and addresses; a request whose `Host` is another one gets 421, so that no web page can read it by a name of its own (DNS rebinding).",
    }),
  },
  check({ values: { listen }, isGiven, wrong }) {
    if (listen === undefined || listen === "off" || isLoopback(listen.host) || isGiven("token")) return
    wrong(
      "listen",
      "is not a loopback address and there is no token; add token = <secret>, or listen on 127.0.0.1",
    )
  },
})
