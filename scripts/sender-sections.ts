import { IN_FILE, spelled } from "../src/message.ts"
import { PUBLISHED_LISTS } from "../src/addresses/published-lists.ts"
import {
  describeDelivery,
  EVENT_PARTS,
  eventHeaders,
  FACTS,
  isSigned,
  placesOf,
  type Preset,
  PRESETS,
  type SenderFacts,
} from "../src/verify/senders.ts"
import { describeRequired, type Family, toFamily, usualCoverage } from "../src/verify/verification.ts"

/** A section for each preset: how to set it up there and here, what arrives, and what it does when nothing answers. */
export const renderSenders = (): string =>
  Object.entries(PRESETS)
    .map(([name, preset]) => [`### ${preset.title}`, "", ...describeSender(name, preset)].join("\n"))
    .join("\n\n")

/** Items of a list, each with what it is about as `- **There**: `. */
export function describeSender(name: string, preset: Preset): string[] {
  const documented = FACTS[name] ?? []
  const said = (key: keyof SenderFacts, text: (facts: SenderFacts) => string): string[] =>
    documented.filter((it) => it[key] !== undefined).map((it) => `${text(it)} (${linkTo(it.source)})`)
  const setup = said("setup", (it) => it.setup!)
  const down = documented.flatMap((it) => {
    const texts = describeDelivery(it)
    return texts.length === 0 ? [] : [`${texts.join("; ")} (${linkTo(it.source)})`]
  })
  const missed = documented.flatMap((it) => {
    const texts = whatWasMissed(it)
    return texts.length === 0 ? [] : [`${texts.join("; ")} (${linkTo(it.source)})`]
  })
  return [
    `- **There**: ${[...setup, ...(setup.length === 0 ? [`see [its documentation](${preset.docs})`] : [])].join("; ")}.`,
    `- **Here**: \`provider = ${name}\`, with ${requiredKeys(toFamily(preset.scheme))}.`,
    `- **What arrives**: ${arrives(preset)}.`,
    `- **When Hookline is down**: ${down.length === 0 ? "what it does is not documented, or could not be confirmed" : down.join("; ")}.`,
    ...(missed.length === 0 ? [] : [`- **What was missed**: ${missed.join("; ")}.`]),
    ...said(
      "replaced",
      (it) =>
        `- **Kept in record headers**: what the Enricher replaces, ${it.replaced!.map((member) => `\`${member}\` as \`received-${member}\``).join(", ")}`,
    ),
    ...addresses(
      name,
      said("addresses", (it) => it.addresses!),
    ),
  ]
}

function addresses(name: string, published: readonly string[]): string[] {
  const fetched = Object.hasOwn(PUBLISHED_LISTS, name)
    ? [`[\`allow = provider:${name}\`](proxies.md#addresses-that-a-sender-publishes)`]
    : []
  const all = [...fetched, ...published]
  return all.length === 0 ? [] : [`- **Addresses**: ${all.join("; ")}`]
}

/** A link whose text says whose page it is: its host, of GitHub with the owner of the repository. */
function linkTo(source: string): string {
  const { hostname, pathname } = new URL(source)
  const owner = hostname === "github.com" ? `/${pathname.split("/")[1]}` : ""
  return `[${hostname.replace(/^www\./, "")}${owner}](${source})`
}

/** `secret`, or `username` and `password`: as Markdown has them. */
export const requiredKeys = (family: Pick<Family, "requires">): string =>
  spelled(describeRequired(family), { ...IN_FILE, option: (key) => `\`${key}\`` })

function arrives({ event = {}, body, scheme }: Preset): string {
  const format = body?.format ?? "json"
  const parts = EVENT_PARTS.filter((part) => placesOf(event, part).length > 0).map(
    (part) =>
      `${part} in ${placesOf(event, part)
        .map((it) => `\`${it}\``)
        .join(" or ")}`,
  )
  const covers = usualCoverage(toFamily(scheme))
  const headers = eventHeaders(event).map(
    (name) => `\`${name}\`${isSigned(`header:${name}`, covers) ? " (signed)" : ""}`,
  )
  return [
    { json: "JSON", form: "a form", multipart: "a form with files", text: "text", auto: "JSON or a form" }[
      format
    ] + (body?.lists === "split" ? ", in lists, an event for each item" : ""),
    ...parts,
    ...(headers.length === 0 ? [] : [`headers of the event: ${headers.join(", ")}`]),
  ].join("; ")
}

const whatWasMissed = ({ lists, resends }: SenderFacts): string[] => [
  ...(lists === undefined ? [] : [`listed by ${lists}`]),
  ...(resends === undefined ? [] : [`sent again by ${resends}`]),
]
