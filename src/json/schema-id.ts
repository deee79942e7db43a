const OPEN_BRACE = 0x7b

/**
 * The object in a value that begins with 0 and a schema's id, as `value_format = json-schema` publishes it; another value
 * itself. No JSON text begins with 0.
 */
export const withoutSchemaId = (value: Uint8Array): Uint8Array =>
  value[0] === 0 && value[5] === OPEN_BRACE ? value.subarray(5) : value
