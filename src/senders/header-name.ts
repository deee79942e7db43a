/** A header's name, in patterns (RFC 9110, 5.6.2, token). */
export const HEADER_NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

const WHOLE = new RegExp(`^${HEADER_NAME}$`)

/** Whether a text is a header's name: `Headers` throws for any other. */
export const isHeaderName = (text: string): boolean => WHOLE.test(text)
