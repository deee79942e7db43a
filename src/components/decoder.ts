// Hot path: every event of a pipeline with a Decoder passes here.
import { integer, list, oneOf, text } from "../config/options/option-types.ts"
import { firstByte, formatOf, type Format } from "../forms/body-format.ts"
import { charsetOf, declaredIn, isCharset, UTF_8, utf8Or, type Charset } from "../forms/charset.ts"
import type { Field, FormFlaw } from "../forms/field.ts"
import { parseMultipart } from "../forms/multipart.ts"
import { parseUrlencoded } from "../forms/urlencoded.ts"
import { OPEN_BRACKET } from "../json/tokens.ts"
import type { Event, Processor } from "../pipeline/event.ts"
import { refusedBody, Rejected } from "../pipeline/outcome.ts"
import { unavailable } from "../pipeline/service-unavailable.ts"
import type { KnownSender } from "./known-sender.ts"
import { isSigned } from "../verify/senders.ts"
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
    charset: text({
      form: "a label of the Encoding standard, such as windows-1252 or Shift_JIS",
      accepts: isCharset,
      default: "utf-8",
      doc: "How the text of forms and of `text/plain` is encoded where neither their Content-Type nor the form says so; see decoding.md. JSON is UTF-8.",
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
  checkInPipeline({ values: { format }, sender, warn }) {
    if (format !== "auto" || sender?.format === "auto" || !mayBeRetyped(sender)) return
    warn(
      "format",
      `auto has the Content-Type, which ${sender!.name} does not sign, say what a signed body is: a text of a captured request could be sent again as a form; set format to what ${sender!.name} sends: json, form, multipart or text`,
    )
  },
  create({ format, unwrap, json_fields, charset, lists, max_list_items }, { sender }) {
    const rules: FieldRules = { unwrap, jsonFields: new Set(json_fields) }
    const fallback = charsetOf(charset)!
    const isTypeOpen = mayBeRetyped(sender)
    const take = lists === "refuse" ? undefined : listStep(lists, max_list_items)
    const process: Processor = (event) => {
      const found = format === "auto" ? formatIn(event) : format
      if (found !== "json") {
        const decoded = decode(found, event, rules, { fallback, isTypeOpen })
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
  refusedBody("invalid_charset", ""),
  refusedBody("unknown_charset", "", 415),
  refusedBody("invalid_form", ""),
  refusedBody("too_many_fields", "", 413),
  refusedBody("duplicate_field", ""),
  refusedBody("invalid_json_field", ""),
]
const TOO_MANY_ITEMS = refusedBody("too_many_items", "", 413)

const formatIn = ({ isForm, body, request }: Event): Format =>
  isForm ? "form" : formatOf(body, request.headers.get("content-type"))

/** Whether a captured request, whose body is signed, can be sent again with another Content-Type. */
function mayBeRetyped(sender: KnownSender | undefined): boolean {
  const { covers } = sender ?? {}
  if (covers?.body !== "whole" && covers?.body !== "checksum") return false
  return !isSigned("header:content-type", covers)
}

/**
 * JSON text made of a body.
 *
 * @param fallback the encoding of text where nothing is declared
 * @param isTypeOpen whether the Content-Type may be another one than the body was signed with: it makes no other text of UTF-8
 */
function decode(
  format: Exclude<Format, "json">,
  { body, request, isForm }: Event,
  rules: FieldRules,
  { fallback, isTypeOpen }: { readonly fallback: Charset; readonly isTypeOpen: boolean },
): string | Rejected {
  const contentType = request.headers.get("content-type")
  // signed parameters are read as they were verified
  if (isForm && format === "form") return ofFields(parseUrlencoded(body), rules)
  const named = declaredIn(contentType)
  if (named !== undefined && "problem" in named) return refused(named)
  const declared = named && isTypeOpen ? utf8Or(named) : named
  if (format === "text") return ofText(body, declared ?? fallback)
  const encoding = { declared, fallback }
  return ofFields(
    format === "form" ? parseUrlencoded(body, encoding) : parseMultipart(body, contentType ?? "", encoding),
    rules,
  )
}

function ofText(body: Uint8Array, charset: Charset): string | Rejected {
  const decoded = charset.decode(body)
  if (decoded !== undefined) return `{"text":${JSON.stringify(decoded)}}`
  return charset === UTF_8
    ? refusedBody("invalid_utf8", "is text that is not UTF-8")
    : refusedBody("invalid_charset", `is text that is not ${charset.name}`)
}

const ofFields = (fields: readonly Field[] | FormFlaw, rules: FieldRules): string | Rejected =>
  "problem" in fields ? refused(fields) : formToJson(fields, rules)

const STATUS: { readonly [rule in FormFlaw["rule"]]?: number } = {
  too_many_fields: 413,
  unknown_charset: 415,
}

const refused = ({ rule, problem }: FormFlaw): Rejected => refusedBody(rule, problem, STATUS[rule])
