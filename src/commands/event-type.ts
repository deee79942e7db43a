import type { StoredRecord } from "../brokers/broker.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { parsePointer } from "../json/pointer.ts"
import { type EventLocations, headerNameIn, placesOf, presetOf } from "../verify/senders.ts"
import { isJson } from "../json/check.ts"

const USUAL: EventLocations = { type: "json:/type" }
const MOST_SHOWN = 80

/**
 * What finds the type of a topic's events: in the header `ce_type` of CloudEvents, or where the provider of a pipeline that
 * publishes to the topic has it. `-`: there is none.
 *
 * @throws HooklineError `no_input`
 */
export function eventTypeIn(file: string | undefined, topic: string): (record: StoredRecord) => string {
  const { pipelines } = loadForCommand(file)
  const text = (
    components: ReadonlyMap<string, { texts: ReadonlyMap<string, { value: { text?: string | undefined } }> }>,
    component: string,
    key: string,
  ) => components.get(component)?.texts.get(key)?.value.text
  const publishing = [...pipelines.values()].find(
    ({ components }) => text(components, "BrokerSink", "topic") === topic,
  )
  const provider = publishing && text(publishing.components, "Verifier", "provider")
  const places = placesOf((provider === undefined ? undefined : presetOf(provider)?.event) ?? USUAL, "type")
  const finders = places.flatMap((place) => parsePointer(place.replace(/^json:/, "")) ?? [])
  const names = ["ce_type", ...places.flatMap((place) => headerNameIn(place)?.toLowerCase() ?? [])]
  return ({ headers, value }) => {
    const header = headers.find(([name]) => names.includes(name))?.[1]
    const inBody = (): Uint8Array | undefined =>
      finders
        .values()
        .map((find) => find(value))
        .find((it) => it !== undefined)
    const found = header ?? (isJson(value) ? inBody() : undefined)
    return found === undefined ? "-" : Buffer.from(found).toString().slice(0, MOST_SHOWN)
  }
}
