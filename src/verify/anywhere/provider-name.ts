/** A sender's name, such as `stripe`. The build puts the union of all of them in its place (scripts/build-verify.ts). */
export type ProviderName = string
