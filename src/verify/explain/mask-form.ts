import { hidden, isQueryName } from "./secret-names.ts"

/**
 * Masks the values of a form, or of a query.
 *
 * @param isSecret whether a name, decoded, is a credential's
 * @param inner masks the decoded text of another value
 */
export function maskForm(
  text: string,
  isSecret: (name: string) => boolean,
  inner: (text: string) => string = (it) => it,
): string {
  const pairs = text.split("&").map((pair) => {
    const at = pair.indexOf("=")
    const value = pair.slice(at + 1)
    if (at === -1 || value === "") return pair
    if (isSecret(decoded(pair.slice(0, at)))) return pair.slice(0, at + 1) + hidden(value)
    const plain = decoded(value)
    const masked = inner(plain)
    return masked === plain ? pair : pair.slice(0, at + 1) + encodeURIComponent(masked)
  })
  return pairs.join("&")
}

/** Masks a query; a parameter without a name may be anything, so it is hidden. */
export const maskQuery = (text: string, inner?: (text: string) => string): string =>
  maskForm(text, isQueryName, inner).replace(/(?<=^|&)[^&=]+(?=&|$)/g, hidden)

/** The text of a name or value in a form; as it is where its escapes are malformed. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return text
  }
}
