import { text } from "../config/options/option-types.ts"

/** One item of a list of patterns. */
export const pattern = text({ form: "a pattern, in which * matches any text", doc: "" })
