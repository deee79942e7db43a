import type { Target } from "./target.ts"

/** What makes each target, by its name. */
export const TARGETS: { readonly [name: string]: () => Promise<Target> } = {
  json: async () => (await import("./targets/json.ts")).json,
  ini: async () => (await import("./targets/ini.ts")).ini,
  signatures: async () => (await import("./targets/signatures.ts")).signatures,
  form: async () => (await import("./targets/form.ts")).form,
  multipart: async () => (await import("./targets/multipart.ts")).multipart,
  jwt: async () => (await import("./targets/jwt.ts")).jwt,
  forwarded: async () => (await import("./targets/forwarded.ts")).forwarded,
  "sent-path": async () => (await import("./targets/sent-path.ts")).sentPath,
  "content-coding": async () => (await import("./targets/content-coding.ts")).contentCoding,
}
