import { randomBytes } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { configurationPath } from "../config/file/load.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { HooklineError } from "../errors.ts"
import { whyRefused } from "../process/paths.ts"
import { createPrivateFile, makeIgnoredFolder } from "../storage/private-files.ts"
import { factsOf, presetOf, SAMPLE_SETTINGS, samplePipeline } from "../verify/senders.ts"
import { findFamily, nameOf, type SettingKey, type VerifierSettings } from "../verify/verification.ts"
import { makeTestSecret, wrongSetting } from "./dev/local-application.ts"
import { quoted, startedAs } from "./started-as.ts"
import { providerOf, readInput, readSettings, usage, type VerifierFlags } from "./verifier-flags.ts"

export type InitFlags = Pick<VerifierFlags, "config" | "secretFile" | "set">

/** A file's text, what else is to be written, and what to do at the sender. */
interface Prepared {
  readonly pipeline: string
  readonly secret?: { readonly path: string; readonly content: string }
  readonly steps: readonly string[]
}

const UNVERIFIED: Prepared = {
  pipeline: `# Nobody is verified: whoever reaches the port can publish. For a known sender: hookline init PROVIDER
[pipeline:webhooks:WebHookSource]
path = /webhook

[pipeline:webhooks:BrokerSink]
topic = webhooks
`,
  steps: [],
}

/**
 * Writes a configuration file with one pipeline, or adds a provider's pipeline to a file that exists.
 *
 * @returns what was written and what to do next
 * @throws HooklineError `usage` where the file has the pipeline, exists and no provider is named, or a setting is missing;
 *   `no_input` where it can't be read or written
 */
export function init(name: string | undefined, flags: InitFlags): string {
  const written: string[] = []
  const file = configurationPath(flags.config)
  const isAdded = existsSync(file)
  if (isAdded && name === undefined)
    throw usage(
      `${file} exists and is not overwritten; name a provider, whose pipeline is added to it, or another file with --config`,
    )
  const { pipeline, secret, steps } = name === undefined ? UNVERIFIED : prepare(name, file, flags)
  const { text, port, more } = isAdded
    ? addition(pipeline, file)
    : { text: `${HEAD}\n${pipeline}`, port: DEFAULT_PORT, more: [] }
  if (secret !== undefined) {
    writing(secret.path, () => {
      makeIgnoredFolder(dirname(secret.path))
      createPrivateFile(secret.path, `${secret.content}\n`)
    })
    written.push(`wrote ${secret.path}`)
  }
  writing(file, () => writeFileSync(file, text, { flag: isAdded ? "a" : "wx" }))
  written.push(isAdded ? `added ${sectionsIn(pipeline).join(", ")} to ${file}` : `wrote ${file}`)
  const option = flags.config === undefined ? "" : ` -c ${quoted(flags.config)}`
  // a Hookline that runs reads the file again
  const commands = ["check", isAdded ? "reload" : "run"].map((it) => `  ${startedAs()} ${it}${option}`)
  const [, path] = /^path = (.+)$/m.exec(pipeline)!
  const address = `Senders post to this machine, port ${port}, path ${path}; hookline dev shows how a laptop gets a public address.`
  const all = [...(name === undefined ? [] : [address]), ...steps, ...more]
  return [...written, "", ...all, "Then:", ...commands].join("\n")
}

interface Addition {
  readonly text: string
  readonly port: string
  /** What else to do. */
  readonly more: readonly string[]
}

/**
 * What is put at the end of a file that exists: the pipeline, on the port of the file's first one.
 *
 * @throws HooklineError `usage`, `no_input`
 */
function addition(pipeline: string, file: string): Addition {
  const { connections, pipelines } = loadForCommand(file)
  const [, id = ""] = /^\[pipeline:([^:]+):/.exec(pipeline)!
  if (pipelines.has(id)) throw usage(`${file} has a pipeline ${id}; name another file with --config`)
  const [source] = [...pipelines.values()].map(({ components }) => components.get("WebHookSource"))
  const shared = ["host", "port"].flatMap((key): [string, string][] => {
    const { text, values } = source?.texts.get(key)?.value ?? {}
    return text === undefined || values !== undefined ? [] : [[key, text]]
  })
  const lines = shared.map(([key, text]) => `${key} = ${text}\n`).join("")
  const placed = pipeline.replace(/^path = .+\n/m, (path) => lines + path)
  const [first] = connections.keys()
  const begin = readFileSync(file, "utf8").endsWith("\n") ? "\n" : "\n\n"
  const head = connections.size === 0 ? `${HEAD}\n` : ""
  const connection = connections.size > 1 ? `connection = ${first}\n` : ""
  return {
    text: begin + head + placed + connection,
    port: new Map(shared).get("port") ?? DEFAULT_PORT,
    more:
      connections.size > 1
        ? [
            `Its events go to the connection ${first}, the first of ${connections.size}: change it in the file where another is meant.`,
          ]
        : [],
  }
}

const DEFAULT_PORT = "8080"
const sectionsIn = (text: string): readonly string[] => text.match(/^\[.+\]$/gm) ?? []

const HEAD = `# Events are kept in an embedded log in ./hookline-data. All sections, keys and defaults: docs/reference.md
[connection:log]
directory = hookline-data
`

function prepare(name: string, file: string, flags: InitFlags): Prepared {
  const provider = nameOf(providerOf({ provider: name }))
  const { requires } = findFamily(provider)!
  const given = readSettings(flags, process.env)
  const isGiven = (key: SettingKey): boolean => given[key] !== undefined
  const keys = requires.find((it) => it.every(isGiven)) ?? requires[0]!
  const samples = keys.filter((key) => !isGiven(key) && SAMPLE_SETTINGS[key] !== undefined)
  const settings = { ...given, ...Object.fromEntries(samples.map((key) => [key, SAMPLE_SETTINGS[key]])) }
  const secretKey = keys.find((key) => key === "secret" || key === "password")
  const made =
    secretKey === undefined || isGiven(secretKey) ? undefined : madeFor(provider, secretKey, settings)
  const wrong = wrongSetting(provider, made === undefined ? settings : { ...settings, [secretKey!]: [made] })
  if (wrong !== undefined) throw usage(`${wrong.message}: give it with --set ${wrong.key}=…`)

  const folder = dirname(file)
  const reference = (path: string): string => `\${file:${relative(folder, resolve(path))}}`
  const secretFile = join(folder, "secrets", provider)
  const texts = new Map(
    flags.set?.map((it): [string, string] => {
      const [key, value] = it.split(/=(.*)/s) as [string, string]
      return [key, value.startsWith("@") ? reference(value.slice(1)) : value]
    }),
  )
  // what standard input gives is written to a file
  const references = flags.secretFile?.map((it) => reference(it === "-" ? secretFile : it))
  if (references !== undefined) texts.set("secret", references.join(", "))
  for (const key of keys) if (!texts.has(key)) texts.set(key, SAMPLE_SETTINGS[key] ?? reference(secretFile))
  const preset = presetOf(provider)
  const title = preset !== undefined && "title" in preset ? preset.title : "the sender"
  const setup = factsOf(provider)?.setup ?? (preset?.docs === undefined ? undefined : `see ${preset.docs}`)
  const secrets = references ?? [texts.get(secretKey ?? "")]
  const own = made ?? given.secret?.[secrets.indexOf(reference(secretFile))]
  const isKept = own !== undefined && existsSync(secretFile)
  if (isKept && made === undefined && readInput(secretFile).toString().trimEnd() !== own)
    throw usage(`${secretFile} exists with another secret and is not overwritten; remove or rename it`)
  return {
    pipeline: samplePipeline(provider, [...texts] as [SettingKey, string][]),
    ...(own === undefined || isKept ? {} : { secret: { path: secretFile, content: own } }),
    steps: [
      ...(setup === undefined ? [] : [`At ${title}: ${setup}.`]),
      ...(made === undefined
        ? []
        : [
            isKept
              ? `The secret in ${secretFile}, which existed, is used: enter the same one there.`
              : `The secret in ${secretFile} was made at random: enter it there, or replace it with the one that is shown there.`,
          ]),
      ...(samples.length > 0
        ? [`The values of ${samples.join(", ")} in the file are examples: replace them.`]
        : []),
    ],
  }
}

const madeFor = (provider: string, key: SettingKey, settings: VerifierSettings): string | undefined =>
  key === "password" ? randomBytes(32).toString("hex") : makeTestSecret(provider, settings)

/** @throws HooklineError `no_input` */
function writing(path: string, write: () => void): void {
  try {
    write()
  } catch (error) {
    throw new HooklineError("no_input", `${path} can't be written: ${whyRefused(error, path)}`, {
      cause: error,
    })
  }
}
