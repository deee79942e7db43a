/*
 * What came from outside is printed so that it can't drive the terminal: clear it, write over lines, turn text around, or set
 * its title. Escapes are those of JSON, so that a JSON text stays the same value.
 */

/**
 * C0 but tab and newline (a carriage return may stand before a newline), DEL, C1, and what changes the direction of text
 * or breaks lines: https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
 */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]|\r(?!\n)/g

/** A text with its control characters written as `\u001b`. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, escape)
}

/** The same of a text that is to stay on one line. */
export function escapeLine(text: string): string {
  return escapeControls(text).replace(/[\r\n]/g, escape)
}

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
