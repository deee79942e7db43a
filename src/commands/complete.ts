import { Help, type Argument, type Command, type Option } from "commander"
import type { ConfigurationFile } from "../config/file/configuration-file.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { DROP } from "../components/router/routes.ts"
import { HooklineError } from "../errors.ts"
import { placesOfSinks } from "./connections-of.ts"
import { escapeLine } from "../telemetry/escape-controls.ts"
import { PROVIDER_NAMES } from "../verify/verification.ts"

/** A word and what it means. Of `FILES`, the shell completes paths. */
type Candidate = readonly [word: string, meaning: string]
const FILES: Candidate = [":files", ""]

/**
 * Words that are only themselves in every shell. bash puts others on the command line unquoted, where a substitution in a
 * configuration file that someone else wrote would run.
 */
const PLAIN = /^[\p{L}\p{N}_.:,=@%+/-]+$/u

/**
 * Prints what the last of some words may be completed to, a line each: the word, a tab, its description; `:files` where a path
 * is expected. Nothing where nothing is known.
 *
 * @param words those between the program's name and the cursor
 */
export function printCompletions(program: Command, words: readonly string[]): void {
  const current = words.at(-1) ?? ""
  for (const [word, meaning] of candidates(program, words.slice(0, -1), current)) {
    if (word === FILES[0] || (PLAIN.test(word) && word.startsWith(current)))
      console.log(`${word}\t${escapeLine(meaning)}`.trimEnd())
  }
}

function candidates(program: Command, before: readonly string[], current: string): readonly Candidate[] {
  let command = program
  let operands = 0
  let awaiting: Option | undefined
  let file: string | undefined
  for (const word of before) {
    if (awaiting !== undefined) {
      if (awaiting.long === "--config") file = word
      awaiting = undefined
    } else if (word.startsWith("-")) {
      const option = optionOf(command, word)
      if (option?.required === true) awaiting = option
    } else {
      const inner = operands === 0 ? command.commands.find((it) => it.name() === word) : undefined
      if (inner === undefined) operands++
      else command = inner
    }
  }
  if (awaiting !== undefined) return valuesOf(awaiting, program, file)
  const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? []
  if (value !== undefined) {
    const option = optionOf(command, name!)
    const values = option === undefined ? [] : valuesOf(option, program, file)
    return values.map((it) => (it === FILES ? it : [`${name}=${it[0]}`, it[1]]))
  }
  const help = new Help()
  if (current.startsWith("-"))
    return help.visibleOptions(command).map((it) => [it.long ?? it.flags, it.description])
  const names = operands === 0 ? namesOf(command) : []
  const { registeredArguments: all } = command
  const argument = all[operands] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined)
  return argument === undefined ? names : [...valuesOf(argument, program, file), ...names]
}

const optionOf = (command: Command, flag: string): Option | undefined =>
  command.options.find(({ short, long }) => flag === short || flag === long)

const namesOf = (command: Command): Candidate[] =>
  new Help().visibleCommands(command).map((it) => [it.name(), it.description()])

/** What a value may be: its choices, or by the name that its declaration gives it. */
function valuesOf(
  declared: Option | Argument,
  program: Command,
  file: string | undefined,
): readonly Candidate[] {
  if (declared.argChoices !== undefined) return declared.argChoices.map((it) => [it, ""])
  const name = "flags" in declared ? /<([\w/]+)>$/.exec(declared.flags)?.[1] : declared.name()
  switch (name) {
    case "file":
    case "folder":
      return [FILES]
    case "topic":
      return topicsOf(configuration(file))
    case "connection/topic":
      return placesOf(configuration(file))
    case "connection":
      return [...(configuration(file)?.connections.keys() ?? [])].map((it) => [it, "connection"])
    case "pipeline":
    case "pipeline|url":
      return [...(configuration(file)?.pipelines.keys() ?? [])].map((it) => [it, "pipeline"])
    case "provider":
      return [
        ...PROVIDER_NAMES.map((it) => [it, ""] as const),
        ...[...(configuration(file)?.providers.keys() ?? [])].map(
          (it) => [it, "of the configuration file"] as const,
        ),
      ]
    case "command":
      return namesOf(program)
    default:
      return []
  }
}

/** Topics that the sinks and Routers of the file name, templates among them, which are not plain words. */
function topicsOf(configuration: ConfigurationFile | undefined): Candidate[] {
  const topics = new Map<string, string>()
  const add = (topic: string | undefined, meaning: string): void => {
    if (topic !== undefined && !topics.has(topic)) topics.set(topic, meaning)
  }
  for (const [pipeline, { components }] of configuration?.pipelines ?? []) {
    for (const { texts } of components.values()) {
      add(texts.get("topic")?.value.text, `pipeline ${pipeline}`)
      for (const line of texts.get("routes")?.value.text?.split("\n") ?? []) {
        const target = line.slice(line.lastIndexOf("=") + 1).trim()
        if (target !== DROP) add(target, `pipeline ${pipeline}`)
      }
      add(texts.get("dead_letter_topic")?.value.text, `dead letters of pipeline ${pipeline}`)
    }
  }
  return [...topics]
}

/** `connection/topic`, of the sinks of the file. */
const placesOf = (configuration: ConfigurationFile | undefined): Candidate[] =>
  (configuration === undefined ? [] : placesOfSinks(configuration)).map(({ connection, topic }) => [
    `${connection}/${topic}`,
    "",
  ])

/** What can be read of the file: completion reports no errors. */
function configuration(file: string | undefined): ConfigurationFile | undefined {
  try {
    return loadForCommand(file)
  } catch (error) {
    if (error instanceof HooklineError) return undefined
    throw error
  }
}
