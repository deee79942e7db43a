/** A field of a form, in the order sent. */
export interface Field {
  readonly name: string
  readonly value: string | UploadedFile
}

/** A field that is no file. */
export interface TextField extends Field {
  readonly value: string
}

/** A file of a multipart form. */
export interface UploadedFile {
  /** As the sender wrote it; may be empty, and may contain a path. */
  readonly filename: string
  /** undefined: none was declared. */
  readonly contentType: string | undefined
  readonly bytes: Uint8Array
}

/** The most fields of a form: they cost more memory than their bytes. */
export const MOST_FIELDS = 1000

/** Why a body can't be read as a form. */
export interface FormFlaw {
  readonly rule: "invalid_utf8" | "invalid_charset" | "unknown_charset" | "invalid_form" | "too_many_fields"
  /** Follows "The body "; of it only an unknown charset is quoted. */
  readonly problem: string
}

export const TOO_MANY_FIELDS: FormFlaw = {
  rule: "too_many_fields",
  problem: `has more than ${MOST_FIELDS} fields`,
}
