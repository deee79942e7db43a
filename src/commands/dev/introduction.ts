import { withoutHidden } from "../../process/hidden-segments.ts"
import manifest from "../../../package.json" with { type: "json" }
import { formatEndpoint, reachable } from "../../addresses/endpoint.ts"
import type { Plan, PlannedPipeline } from "../../runtime/plan/plan.ts"
import { verificationsOf } from "../../runtime/explain-request.ts"
import { senderOf } from "../../components/processor-facts.ts"
import { verifiedFrom } from "../../runtime/plan/verified.ts"
import type { Listening } from "../../runtime/running-application.ts"
import { toShownUrl } from "../../outgoing/shown-url.ts"
import { findFamily, nameOf } from "../../verify/verification.ts"
import { sampleRequest } from "../../verify/senders.ts"
import type { Paint } from "../../process/colours.ts"
import { quoted } from "../started-as.ts"
import { wrap } from "../wrap.ts"
import type { LocalVerification } from "./local-application.ts"
import { pageOf } from "./page.ts"

interface Introduced {
  readonly plan: Plan
  readonly listening: readonly Listening[]
  /** Without a file. */
  readonly isLocal: boolean
  /** How a local application verifies requests. */
  readonly verification: LocalVerification | undefined
  readonly secretFile: string | undefined
  readonly forward: URL | undefined
  readonly hasKeys: boolean
  /** As `startedAs` gives it. */
  readonly command: string
  /** Columns of the terminal; undefined: it is none. */
  readonly width: number | undefined
}

/** A name and a text, which is wrapped unless it is a command, to be pasted. */
type Row = readonly [name: string, text: string, kind?: "command"]

/** What is printed at the start: where to post, how it is verified, where to find events, what to try. */
export function introduce(introduced: Introduced, paint: Paint): string {
  const { plan, listening, forward, hasKeys, width } = introduced
  const { admin } = plan
  const rows: Row[] = []
  for (const { pipeline: id, url } of listening) {
    const pipeline = plan.pipelines.find((it) => it.id === id)!
    rows.push(["Post to", paint("bold", shownUrl(url))], ["", whoIsVerified(pipeline, introduced, paint)])
    if (introduced.verification?.isTest === true)
      rows.push([
        "",
        `${nameOf(introduced.verification.provider)} does not know it: start again with its own in HOOKLINE_SECRET or --secret-file`,
      ])
    rows.push(["", `published to ${placeIn(pipeline, plan)}`])
  }
  const page = pageOf(admin)
  if (page !== undefined) rows.push(["Page", page])
  if (forward !== undefined)
    rows.push(["Forward", `each published event to ${toShownUrl(forward)}, until that accepts or refuses it`])
  const first = listening[0]
  if (first !== undefined) {
    rows.push(["", ""])
    for (const [index, line] of samples(first, introduced).entries())
      rows.push([index === 0 ? "Try it" : "", line, "command"])
    for (const [index, line] of ways(first, plan).entries())
      rows.push([index === 0 ? "From outside" : "", line])
  }
  rows.push(
    ["", ""],
    [
      "Keys",
      hasKeys
        ? "b: the last event's body, r: send it again, o: open the page, ?: all keys, q or Ctrl-C: end"
        : "Ctrl-C: end",
    ],
  )
  const lines = rows.map(([name, text, kind]) => {
    const shown = kind === "command" || width === undefined ? text : wrapText(text, width)
    return `  ${paint("dim", name.padEnd(INDENT.length - 2))}${shown}`.trimEnd()
  })
  return withoutHidden(`${paint("bold", "Hookline")} ${manifest.version}\n\n${lines.join("\n")}\n\n`)
}

const INDENT = " ".repeat(16)

function wrapText(text: string, width: number): string {
  const [own = ""] = /^ */.exec(text)!
  return own + wrap(text.trimStart(), width, INDENT + own)
}

const shownUrl = (url: string): string =>
  url.replace(/\/\/(?:0\.0\.0\.0|127\.0\.0\.1|\[::\]):/, "//localhost:")

function whoIsVerified(
  pipeline: PlannedPipeline,
  { isLocal, verification }: Introduced,
  paint: Paint,
): string {
  if (verifiedFrom(pipeline) === undefined) {
    const remedy = isLocal
      ? "name the sender with --provider"
      : `add [pipeline:${pipeline.id}:Verifier] to the file`
    return paint("yellow", `NOT VERIFIED: whoever reaches this URL can publish; ${remedy}`)
  }
  const sender = senderOf(pipeline.processors)?.name ?? "the client's certificate"
  if (verification?.isTest !== true) return `verified: ${sender}`
  const [secret] = verification.settings.secret ?? []
  return `verified: ${sender}, with a secret made for this run: ${secret}`
}

function placeIn({ sink }: PlannedPipeline, { connections }: Plan): string {
  const { topic, connection = connections.keys().next().value } = sink.values as {
    topic: string
    connection?: string
  }
  const { kind, values } = connections.get(connection ?? "")!
  return `topic ${topic} ${kind.describe(values).ofTopic}`
}

/**
 * Commands that post an event, to be pasted as they are. The secret is spelled only where it was made for this run; one
 * that no file holds stays with the running Hookline, whose admin API signs.
 */
function samples(
  { pipeline, url }: Listening,
  { plan, verification, secretFile, command }: Introduced,
): string[] {
  const planned = plan.pipelines.find(({ id }) => id === pipeline)!
  const to = shownUrl(url)
  if (verifiedFrom(planned) === undefined) return [`curl -i -d '{"type":"ping","id":42}' ${to}`]
  const name = verification === undefined ? senderOf(planned.processors)?.name : nameOf(verification.provider)
  const family = name === undefined ? undefined : findFamily(verification?.provider ?? name)
  if (family?.signer === undefined || !family.requires.flat().includes("secret")) return []
  if (verification?.isTest === true)
    return [`HOOKLINE_SECRET=${verification.settings.secret![0]} ${command} send -p ${name} ${to}`]
  if (secretFile !== undefined)
    return [`${command} send -p ${name} --secret-file ${quoted(secretFile)} ${to}`]
  const { listen, token } = plan.admin
  const { headers } = sampleRequest(verification?.provider ?? name, { id: "1", number: 1, atMs: 0 })
  const isJson = headers.get("content-type")?.startsWith("application/json") === true
  if (listen === "off" || token !== undefined || !isJson) return []
  const request = JSON.stringify({ pipeline, body: '{"type":"ping","id":42}' })
  const api = `http://${formatEndpoint(reachable(listen))}/api/send`
  return [`curl -i -H 'Content-Type: application/json' -d '${request}' ${api}`]
}

/** How senders outside reach this machine. */
function ways({ pipeline, url }: Listening, plan: Plan): string[] {
  const { origin, host, port, pathname } = new URL(shownUrl(url))
  const { source, processors } = plan.pipelines.find(({ id }) => id === pipeline)!
  const [verification] = verificationsOf({ processors })
  const family = verification && findFamily(verification.provider)
  const isStripe = verification?.provider === "stripe"
  return [
    ...(isStripe
      ? [`stripe listen --forward-to ${host}${pathname}`, "  it signs with the secret that it prints; or"]
      : []),
    `cloudflared tunnel --url ${origin}`,
    `ngrok http ${port || host}`,
    `  the provider posts to the URL that it prints, followed by ${pathname}`,
    ...(family?.signsUrl === true && source.values["public_url"] === undefined
      ? ["  and signs it: start again with --public-url and that URL"]
      : []),
  ]
}
