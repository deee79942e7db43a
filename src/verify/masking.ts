/*
 * What of requests and records is shown to people: secrets hidden, invisible characters named.
 */
export { concealer, type Conceal } from "./explain/conceal.ts"
export { maskUrlsAndForms } from "./explain/mask-plain.ts"
export { maskHeader, maskRequest } from "./explain/mask-request.ts"
export { maskValue } from "./explain/mask-text.ts"
export { isTokenName } from "./explain/secret-names.ts"
export { visible } from "./explain/visible.ts"
