import { duration, integer, oneOf, path, text } from "../../config/options/option-types.ts"
import { defineSection } from "../../config/declarations.ts"

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

export const RECONCILE = defineSection({
  title: "reconcile",
  aliases: [],
  summary:
    "Compares what a pipeline's sender lists with what ended here for good, and has it deliver what is missing again; see reconciling.md.",
  options: {
    pipeline: text({
      doc: "Id of the pipeline that the sender's events go to. Its Verifier names the sender.",
    }),
    credentials: text({
      secret: true,
      doc: "What the sender's API asks for, best as `${file:/run/secrets/…}`: a token or API key; of a GitHub App `<app id>:<its PEM key>`; of PayPal `<client id>:<client secret>`. reconciling.md says which permissions it needs.",
    }),
    endpoint: text({
      optional: true,
      doc: "Which of the sender's webhooks it is, as its API names it: of GitHub `repos/<owner>/<repo>/hooks/<id>`, `orgs/<org>/hooks/<id>` or `app/hook`; for other senders see reconciling.md.",
    }),
    api: text({
      optional: true,
      accepts: (value) => isApi(value),
      form: "an https:// URL",
      doc: "Base URL of the API, for a sender's sandbox or a self-hosted installation, such as `https://github.example.com/api/v3`. Default: the sender's.",
    }),
    requests_per_hour: integer({
      min: 1,
      max: 10_000_000,
      optional: true,
      doc: "Limit of requests an hour, including redeliveries. Default: what the sender's documentation allows one client, or less where others use the same credentials: 2000 of GitHub's 5000. A self-hosted installation may have no limit.",
    }),
    every: duration({ minMs: 1000, maxMs: DAY_MS, default: "10m", doc: "How often it compares." }),
    window: duration({
      minMs: 60 * MINUTE_MS,
      maxMs: 90 * DAY_MS,
      default: "3h",
      doc: "How far back it compares each time, and after a stop as far as the last time if that is longer ago, as long as the sender keeps its list.",
    }),
    inject: oneOf(["false", "true"], {
      default: "false",
      doc: "With `true`, a missing event of a sender that lists events and does not deliver them again is published as it is listed, through the same pipeline, without its signature and with the record header `hookline-injected`. Needs a Deduplicator in the pipeline.",
    }),
    certificate_topic: text({
      optional: true,
      doc: "Topic on the pipeline's connection for a record an hour that says what the sender listed and what became of it. Default: only the log and the page have it.",
    }),
    directory: path({
      optional: true,
      doc: "Folder where it keeps what it has listed. Default: the embedded log's folder, or `hookline-data` beside the configuration file.",
    }),
  },
})

function isApi(text: string): boolean {
  const url = URL.parse(text)
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url?.hostname ?? "")
  return url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)
}
