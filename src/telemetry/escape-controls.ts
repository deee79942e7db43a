/*
 * Untrusted text is escaped so that it can't control the terminal: clear it, overwrite lines, reverse text, set the title.
 * Escapes are those of JSON, so that JSON keeps its value.
 */

/**
 * C0 except tab and newline (CR LF is left alone), DEL, C1, bidirectional formatting and line separators:
 * https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
 */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]|\r(?!\n)/g

/** Writes control characters as `\u001b`. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, escape)
}

/** Escapes line breaks, too. */
export function escapeLine(text: string): string {
  return escapeControls(text).replace(/[\r\n]/g, escape)
}

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
