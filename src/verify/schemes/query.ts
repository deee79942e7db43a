import { Refused } from "../verifier.ts"

/** The value of a query parameter, which may come once. @param query without its question mark */
export function readParameter(query: string, name: string): string | Refused {
  const values = new URLSearchParams(query).getAll(name).filter((value) => value !== "")
  if (values.length === 0) return new Refused("missing_header", `no query parameter ${name}`)
  return values.length === 1 ? values[0]! : new Refused("malformed", `duplicate query parameter ${name}`)
}

/** A URL with a query parameter added. */
export const withQuery = (url: string, name: string, value: string): string =>
  `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams({ [name]: value }).toString()}`
