import type { Command } from "commander"
import { columns, wrap } from "./wrap.ts"

/** What a command's help and its part of the man page have after the options. */
export interface Details {
  /** Paragraphs, separated by empty lines; other line breaks are spaces. */
  readonly notes?: string
  /** A command line. */
  readonly example: string
}

const DETAILS = new WeakMap<Command, Details>()

export function addDetails(command: Command, details: Details): Command {
  DETAILS.set(command, details)
  const { notes, example } = details
  return command.addHelpText(
    "after",
    () => `${notes === undefined ? "" : `\n${paragraphs(notes)}\n`}\nExample:\n  ${example}`,
  )
}

export const detailsOf = (command: Command): Details | undefined => DETAILS.get(command)

const paragraphs = (text: string): string => wrap(text.replaceAll(/(?<!\n)\n(?!\n)/g, " "), columns())
