import { Help } from "commander"

const help = new Help()
help.minWidthToWrap = 1

/** Columns of the terminal, 80 where there is none. */
export const columns = (): number => (process.stdout.columns > 0 ? process.stdout.columns : 80)

/** Breaks text between words, into lines of a number of columns; those after the first are indented. */
export const wrap = (text: string, width: number, indent = ""): string =>
  help.boxWrap(text, Math.max(1, width - indent.length)).replaceAll("\n", `\n${indent}`)
