/** What is wrong with a body of JSON, in the browser's words; undefined: nothing. */
export function jsonProblem(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    return isObject ? undefined : "JSON, but not an object"
  } catch (error) {
    return (error as Error).message
  }
}

/** Whether a body of that content type is to be JSON; `application/cloudevents+json` is. */
export const isJsonType = (contentType: string): boolean => /[/+]json\b/i.test(contentType)

/** JSON indented, for editing; what is not JSON, or has numbers that JavaScript would change, as it is. */
export function indented(text: string): string {
  try {
    const value = JSON.parse(text) as unknown
    return JSON.stringify(value) === text.trim() ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}
