// Hot path: every event of a pipeline with a Decoder passes here.
import { isUtf8 } from "node:buffer"
import { integer, list, oneOf, text } from "../config/options/option-types.ts"
import { firstByte, formatOf, type Format } from "../forms/body-format.ts"
import { parseMultipart } from "../forms/multipart.ts"
import { parseUrlencoded } from "../forms/urlencoded.ts"
import { asBuffer, OPEN_BRACKET } from "../json/tokens.ts"
import type { Event, Processor } from "../pipeline/event.ts"
import { refusedBody, Rejected } from "../pipeline/outcome.ts"
import { unavailable } from "../pipeline/service-unavailable.ts"
import { defineComponent } from "./define-component.ts"
import { listStep } from "./decoder/lists.ts"
import { formToJson, type FieldRules } from "./decoder/form-to-json.ts"

const FIELD = text({ form: "the name of a field", doc: "" })

/** Makes JSON objects of forms, text and lists; JSON objects pass untouched. */
export const decoder = defineComponent({
  kind: "processor",
  name: "Decoder",
  summary:
    "Turns forms, text and lists into JSON objects, see decoding.md; a JSON object passes byte for byte. Where the Verifier's preset says what its bodies are, that is the default, and no section is needed.",
  options: {
    format: oneOf(["json", "form", "multipart", "text", "auto"], {
      default: "auto",
      doc: "What a body is. auto: JSON where it begins with { or [, else by Content-Type: application/x-www-form-urlencoded is form, multipart/form-data multipart, text/plain text, and anything else JSON.",
    }),
    unwrap: text({
      form: "the name of a field",
      optional: true,
      doc: "The field of a form whose JSON is the event; other fields are dropped. A form without it becomes an object as usual.",
    }),
    json_fields: list(FIELD, {
      optional: true,
      doc: "Fields of a form whose values are JSON, which is put into the object as it is, and not as a text.",
    }),
    lists: oneOf(["refuse", "wrap", "split"], {
      default: "refuse",
      doc: 'What becomes of a JSON list. refuse: 400 by the Validator; wrap: one event, {"items":[…]}; split: an event for each item, published as one unit.',
    }),
    max_list_items: integer({
      min: 1,
      max: 10_000,
      default: "1000",
      doc: "The most items of a list that is split; a longer one is answered 413.",
    }),
  },
  isImplied: true,
  create({ format, unwrap, json_fields, lists, max_list_items }) {
    const rules: FieldRules = { unwrap, jsonFields: new Set(json_fields) }
    const take = lists === "refuse" ? undefined : listStep(lists, max_list_items)
    const process: Processor = (event) => {
      const found = format === "auto" ? formatIn(event) : format
      if (found !== "json") {
        const decoded = decode(found, event, rules)
        if (decoded instanceof Rejected) return decoded
        const body = Buffer.from(decoded)
        if (body.length > event.body.length && !event.reserve(body.length - event.body.length))
          return unavailable("in_flight_full")
        event.decode(body)
        if (found === "form") event.isForm = false
      }
      return take === undefined || firstByte(event.body) !== OPEN_BRACKET ? event : take(event)
    }
    const splits = lists === "split"
    const outcomes = [...(format === "json" ? [] : UNDECODED), ...(splits ? [TOO_MANY_ITEMS] : [])]
    return Object.assign(process, { outcomes, splits })
  },
})

/** Every refusal of a body that can't be decoded. */
const UNDECODED = [
  refusedBody("invalid_utf8", ""),
  refusedBody("invalid_form", ""),
  refusedBody("too_many_fields", "", 413),
  refusedBody("duplicate_field", ""),
  refusedBody("invalid_json_field", ""),
]
const TOO_MANY_ITEMS = refusedBody("too_many_items", "", 413)

const formatIn = ({ isForm, body, request }: Event): Format =>
  isForm ? "form" : formatOf(body, request.headers.get("content-type"))

/** JSON text made of a body. */
function decode(
  format: Exclude<Format, "json">,
  { body, request }: Event,
  rules: FieldRules,
): string | Rejected {
  if (format === "text")
    return isUtf8(body)
      ? `{"text":${JSON.stringify(asBuffer(body).toString())}}`
      : refusedBody("invalid_utf8", "is text that is not UTF-8")
  const fields =
    format === "form"
      ? parseUrlencoded(body)
      : parseMultipart(body, request.headers.get("content-type") ?? "")
  if (!Array.isArray(fields))
    return refusedBody(fields.rule, fields.problem, fields.rule === "too_many_fields" ? 413 : 400)
  return formToJson(fields, rules)
}
