import { Ajv } from "ajv"

/** A check of values by a schema of a sender's OpenAPI document. It returns them. @throws Error where one does not fit */
export function checkBy(sender: string, schema: object): <T>(value: T) => T {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const fits = ajv.compile(schema)
  return (value) => {
    if (!fits(value))
      throw new Error(`not as ${sender}'s OpenAPI document has it: ${ajv.errorsText(fits.errors)}`)
    return value
  }
}
