import { endpointOrOff } from "./endpoint-options.ts"
import { isLoopback } from "./endpoint.ts"
import { list, text } from "../options/option-types.ts"
import { defineSection } from "../options/section.ts"

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
    listen: endpointOrOff({
      default: "127.0.0.1:9464",
      doc: "Where it listens; `off` turns it off. Requires `token` unless the address is a loopback one.",
    }),
    token: text({
      optional: true,
      secret: true,
      reload: "live",
      doc: "Token that callers must present as `Authorization: Bearer <token>`. Without it every client is served.",
    }),
    hosts: list(hostName, {
      optional: true,
      reload: "live",
      doc: "Accepted values of `Host`, beside `localhost` and IP addresses; requests with another get 421, against DNS rebinding.",
    }),
  },
  check({ values: { listen }, isGiven, wrong }) {
    if (listen === undefined || listen === "off" || isLoopback(listen.host) || isGiven("token")) return
    wrong(
      "listen",
      "is not a loopback address and token is not set; add token = <secret>, or listen on 127.0.0.1",
    )
  },
})
