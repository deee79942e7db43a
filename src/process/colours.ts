import { styleText } from "node:util"

export type Style = Parameters<typeof styleText>[0]
/** Colours a text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string

/** Whether output is coloured: on a terminal, unless NO_COLOR is set; anywhere with FORCE_COLOR, https://force-color.org. */
export function isColoured(
  isTerminal: boolean,
  { FORCE_COLOR = "", NO_COLOR = "", TERM }: { readonly [name: string]: string | undefined },
): boolean {
  if (FORCE_COLOR !== "") return FORCE_COLOR !== "0"
  return isTerminal && NO_COLOR === "" && TERM !== "dumb"
}

export const painter = (coloured: boolean): Paint =>
  coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text
