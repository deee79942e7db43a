const MOST_CHARACTERS = 500

/**
 * The URL of a request for the log: what a scheme that signs it took for signed. Values of the query, which may be secret,
 * are left out.
 */
export function assumedUrl(url: string): string {
  const shown = url.replace(/([?&][^=&?]*=)[^&]+/g, "$1…")
  return shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS)}…` : shown
}
