import { custom, integer, list, path, size, text, WrongValue } from "../config/options.ts"
import { addressTest, parseNetwork } from "../http/addresses.ts"
import { defineComponent } from "./component.ts"

const NETWORK = "an address or network such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32"
const network = text({ doc: "", form: NETWORK })
const networkOption = custom<string, { doc: string }>(
  NETWORK,
  { doc: "" },
  (value) => {
    if (parseNetwork(value) === undefined) throw new WrongValue(`${JSON.stringify(value)} is not ${NETWORK}`)
    return value
  },
  (value) =>
    network.wrong(value) ??
    (parseNetwork(value) === undefined ? `${JSON.stringify(value)} is not ${NETWORK}` : undefined),
)

export const WebHookSource = defineComponent({
  kind: "source",
  name: "WebHookSource",
  summary: "Takes webhooks in over HTTP.",
  options: {
    port: integer({
      min: 0,
      max: 65_535,
      default: "8080",
      doc: "Port to listen on; several pipelines may share one.",
    }),
    path: text({
      default: "/webhook",
      pattern: /^\/[^?#*\s]*(?:(?<=\/)\*)?$/,
      form: "a path that begins with / and has no query; it may end in /*",
      doc: "Path that the webhooks are sent to.",
    }),
    host: text({ default: "0.0.0.0", doc: "Address to listen on." }),
    max_body_bytes: size({ default: "1MiB", min: 1, max: 1024 ** 3, doc: "Largest body." }),
    response_status: integer({ min: 200, max: 299, default: "200", doc: "Status of the answer." }),
    response_body: text({ default: "", doc: "Body of the answer." }),
    response_content_type: text({ optional: true, doc: "Content type of the answer." }),
    content_types: list(text({ doc: "" }), { optional: true, doc: "Media types that are taken." }),
    allow: list(networkOption, { optional: true, doc: "Addresses and networks that may send." }),
    trusted_proxies: list(networkOption, { optional: true, doc: "Proxies whose X-Forwarded-For counts." }),
    tls_certificate: path({ optional: true, doc: "PEM file with the certificate." }),
    tls_key: path({ optional: true, doc: "PEM file with the key." }),
    tls_client_ca: path({ optional: true, doc: "PEM file with the CA of client certificates." }),
  },
  create(values, { pipeline }) {
    const { tls_certificate, tls_key } = values
    return (handle) => ({
      pipeline,
      host: values.host,
      port: values.port,
      path: values.path,
      maxBodyBytes: values.max_body_bytes,
      contentTypes: values.content_types?.map((type) => type.toLowerCase()),
      allows: values.allow && addressTest(values.allow),
      trustsProxy: values.trusted_proxies && addressTest(values.trusted_proxies),
      tls:
        tls_certificate === undefined || tls_key === undefined
          ? undefined
          : { certificate: tls_certificate, key: tls_key, clientCa: values.tls_client_ca },
      response: {
        status: values.response_status,
        body: values.response_body,
        contentType: values.response_content_type,
      },
      handle,
    })
  },
})
