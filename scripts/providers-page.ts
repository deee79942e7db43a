import {
  type BodyForm,
  EVENT_PARTS,
  eventHeaders,
  type EventLocations,
  isForgeable,
  isSigned,
  placesOf,
  PRESETS,
} from "../src/verify/senders.ts"
import { replaceParts } from "./generated-parts.ts"
import { renderSenders } from "./sender-sections.ts"
import { renderBodies } from "./provider-bodies.ts"
import {
  type Family,
  GENERIC,
  HANDSHAKES,
  keysOf,
  SECRET_FORMS,
  toFamily,
  usualCoverage,
} from "../src/verify/verification.ts"
import { requiredKeys } from "./sender-sections.ts"

/** Writes the presets, the generic kinds, what becomes of forms and lists, and the handshakes into docs/providers.md. */
export async function renderProviders(page: string): Promise<string> {
  const presets = Object.entries(PRESETS).map(
    ([name, { title, scheme: form, docs, note, toleranceIsOurs }]) => {
      const scheme = toFamily(form)
      return [
        `\`${name}\``,
        `[${title}](${docs})`,
        scheme.family,
        requiredKeys(scheme) + optional(scheme) + secretForm(scheme),
        tolerance(scheme) + (toleranceIsOurs === true ? ", *ours*" : ""),
        signs(scheme),
        scheme.signsUrl === true ? "yes" : "",
        note ?? "",
      ]
    },
  )
  const kinds = Object.entries(GENERIC).map(([name, family]) => [
    `\`${name}\``,
    requiredKeys(family),
    keysOf(family)
      .filter((key) => !family.requires.flat().includes(key))
      .map((key) => `\`${key}\``)
      .join(", "),
    tolerance(family),
  ])
  const events = Object.entries(PRESETS).flatMap(([name, { scheme, event }]) =>
    event === undefined
      ? []
      : [
          [
            `\`${name}\``,
            ...EVENT_PARTS.map((part) => where(placesOf(event, part))),
            keptHeaders(event, toFamily(scheme)),
            deduplication(event, toFamily(scheme)),
          ],
        ],
  )
  const bodies = Object.entries(PRESETS).flatMap(([name, { body }]) =>
    body === undefined ? [] : [[`\`${name}\``, ...decoding(body)]],
  )
  const handshakes = Object.entries(HANDSHAKES).flatMap(([name, { says }]) =>
    says.map((it) => [`\`${name}\``, ...it]),
  )
  return replaceParts(page, [
    table(["preset", "provider", "scheme", "needs", "tolerance", "signs", "URL", "note"], presets),
    table(
      [
        "preset",
        ...EVENT_PARTS.map((part) => `\`event:${part}\``),
        "record headers",
        "key of a Deduplicator",
      ],
      events,
    ),
    table(["kind", "needs", "may have", "tolerance"], kinds),
    table(["preset", "Decoder", "as documented"], bodies),
    await renderBodies(),
    table(["preset", "asked", "answered"], handshakes),
    renderSenders(),
  ])
}

const where = (places: readonly string[]): string => places.map((it) => `\`${it}\``).join(", or ")

/** The request headers that its records have, and which of them are signed. */
const keptHeaders = (event: EventLocations, scheme: Family): string =>
  eventHeaders(event)
    .map((name) => {
      const isCovered = isSigned(`header:${name}`, usualCoverage(scheme))
      return `\`${name.toLowerCase()}\`${isCovered ? " (signed)" : ""}`
    })
    .join(", ")

/** What `event:id` means for it. */
function deduplication(event: EventLocations, scheme: Family): string {
  const places = placesOf(event, "id")
  if (places.length === 0) return ""
  const covers = usualCoverage(scheme)
  if (!places.some((id) => isForgeable(id, covers))) return "id"
  return covers.renewed === undefined ? "id and body" : `id and body without \`${covers.renewed}\``
}

/** `format = json`, `lists = split`, and the provider's page. */
function decoding({ docs, ...options }: BodyForm): readonly string[] {
  const given = Object.entries(options).map(([key, value]) => `\`${key} = ${value}\``)
  return [given.join(", "), docs ?? ""]
}

const optional = (family: Family): string => {
  const more = family.optional ?? []
  return more.length === 0 ? "" : `; may have ${more.map((key) => `\`${key}\``).join(", ")}`
}

/** Mentioned unless it is plain text. */
const secretForm = ({ secretForm, requires }: Family): string =>
  secretForm === undefined || secretForm === SECRET_FORMS.text || !requires.flat().includes("secret")
    ? ""
    : `; secret: ${secretForm}`

function signs(family: Family): string {
  const { body, time, id } = usualCoverage(family)
  const parts = { whole: ["body"], form: ["form"], part: ["members"], checksum: ["CRC-32"], none: [] }[body]
  return [...parts, ...(time ? ["time"] : []), ...(id ? ["id"] : [])].join(", ") || "–"
}

const tolerance = ({ toleranceMs }: Family): string =>
  toleranceMs === undefined
    ? ""
    : toleranceMs === 0
      ? "off"
      : toleranceMs < 3_600_000
        ? `${toleranceMs / 1000} s`
        : `${toleranceMs / 3_600_000} h`

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`.replaceAll("  |", " |")
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n")
}
