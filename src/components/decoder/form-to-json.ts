import type { Field, UploadedFile } from "../../forms/field.ts"
import { asBuffer } from "../../json/tokens.ts"
import { findTextFlaw } from "../../json/check.ts"
import { refusedBody, Rejected } from "../../pipeline/outcome.ts"

/** What is done with the fields of a form. */
export interface FieldRules {
  /** Names of fields whose JSON is spliced in as it is. */
  readonly jsonFields: ReadonlySet<string>
  /** The field whose JSON is the event; undefined, or not sent: the object of all fields is. */
  readonly unwrap: string | undefined
}

/**
 * A form as JSON text. An object of the fields in their order, written as text: a JavaScript object would move names like
 * "7" to the front and lose "__proto__". A repeated name is a list, where it came first. Text of JSON fields is not read
 * but copied, so that numbers keep their spelling.
 */
export function formToJson(fields: readonly Field[], { jsonFields, unwrap }: FieldRules): string | Rejected {
  const members = Map.groupBy(fields, ({ name }) => name)
  const wrapped = unwrap === undefined ? undefined : members.get(unwrap)
  if (wrapped !== undefined)
    return wrapped.length === 1
      ? jsonOf(wrapped[0]!)
      : refusedBody("duplicate_field", `has the field ${unwrap} more than once`)
  const texts: string[] = []
  for (const [name, ofName] of members) {
    const values: string[] = []
    for (const field of ofName) {
      const text = jsonFields.has(name) ? jsonOf(field) : textOf(field.value)
      if (text instanceof Rejected) return text
      values.push(text)
    }
    texts.push(`${JSON.stringify(name)}:${values.length === 1 ? values[0] : `[${values.join(",")}]`}`)
  }
  return `{${texts.join(",")}}`
}

/** The JSON of a field. */
function jsonOf({ name, value }: Field): string | Rejected {
  const bytes = typeof value === "string" ? Buffer.from(value) : asBuffer(value.bytes)
  const flaw = findTextFlaw(bytes)
  if (flaw !== undefined) return refusedBody("invalid_json_field", `has a field ${name} that ${flaw.problem}`)
  return typeof value === "string" ? value : bytes.toString()
}

const textOf = (value: string | UploadedFile): string =>
  typeof value === "string" ? JSON.stringify(value) : fileText(value)

/** Without a content_type where the sender declared none. */
const fileText = ({ filename, contentType, bytes }: UploadedFile): string =>
  JSON.stringify({ filename, content_type: contentType, base64: asBuffer(bytes).toString("base64") })
