/**
 * `npm run docs` generates pages from options and presets; with --check (in `npm run check`) it only compares.
 */
import { messageInFile } from "../src/message.ts"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileKinds } from "../src/brokers/registry.ts"
import { components } from "../src/components/registry.ts"
import { describeRelations, type Section } from "../src/config/declarations.ts"
import type { Option } from "../src/config/options/option-types.ts"
import { keysBy } from "../src/config/options/reloading.ts"
import { ADMIN, SERVICE, TRACES } from "../src/config/sections.ts"
import { FORWARD } from "../src/config/sections/forward.ts"
import { extensions } from "../src/extensions/registry.ts"
import { EXIT_STATUSES } from "../src/commands/exit-statuses.ts"
import { PRESETS } from "../src/verify/senders.ts"
import { GENERIC, PROVIDER } from "../src/verify/verification.ts"
import { replaceParts } from "./generated-parts.ts"
import { renderManPage } from "./man-page.ts"
import { renderMetrics } from "./metrics-page.ts"
import { renderProviders } from "./providers-page.ts"

/** The sections of extensions. */
const SECTIONS = extensions.flatMap(({ name, sections }): [string, Section][] =>
  sections === undefined ? [] : [[name, sections.section]],
)

const INTRODUCTION = `# Reference of the configuration file

Generated from the declarations of the options by \`npm run docs\`; do not edit.

The file is \`-c FILE\`, else \`$HOOKLINE_CONFIG\`, else \`./pipelines.conf\`. \`hookline check\` finds every
problem that a start would: [configuration.md](configuration.md).

\`\`\`ini
# A comment; so is a line that begins with ; and neither ends a value.
[connection:kafka]
bootstrap_servers =
    kafka-1:9092
    kafka-2:9092
client_id: \${HOSTNAME:-hookline}
\`\`\`

- \`include\`, before the first section, lists further files by name or pattern: \`include = teams.d/*.conf\`.
- Sections are \`[connection:<id>]\`, \`[pipeline:<id>:<Component>]\`, \`[provider:<name>]\`, ${SECTIONS.map(([name]) => `\`[${name}:<id>]\`, `).join("")}\`[forward:<id>]\`, \`[defaults:<Component>]\`, \`[admin]\`, \`[traces]\` and \`[service]\`. A pipeline is every section
  that shares its id; it needs a WebHookSource and a BrokerSink; Validator and Enricher are always there, and a Decoder
  where the preset of the Verifier's provider has one.
- \`key = value\` or \`key: value\`; keys are case-insensitive. A line that is indented deeper than its key continues the
  value. In a Router's section a line that is none of its keys is \`pattern = topic\`. An empty value is an error unless the default is empty: remove the key to get its default.
- \`\${NAME}\` is the environment's variable, \`\${NAME:-default}\` has a default for when it is unset or empty,
  \`\${file:/run/secrets/name}\` is a file's text without its last line end, \`$\${\` is a literal \`\${\`. Messages about the
  file never quote a value that has a substituted one. Options that are never printed, user information and the query of URLs,
  and segments of a \`path\` that have a substituted value (\`…\` stands for them) are in no log, metric, trace, answer of the
  admin API or output of a command; other values, such as a topic's name, are printed, substituted or not.
- Durations are \`500ms\`, \`5s\`, \`2m\`, \`24h\`, \`7d\`; sizes \`512KiB\`, \`1MiB\`, also in plain bytes; lists are separated by commas or lines.
  A relative path starts from the folder of the file that has it; \`~\` is not replaced: write \`\${HOME}\`.
- A file that secrets come from has one a line, commas included.
- \`[defaults:<Component>]\` has keys for every pipeline's section of that component, \`[defaults:connection]\` for connections.
- Options given in code take precedence over the file's, these over \`[defaults:...]\`, and these over the defaults. In code keys are in camel case
  (\`max_body_bytes\` is \`maxBodyBytes\`), durations may be numbers of milliseconds and sizes numbers of bytes.
`

/** Writes docs/reference.md: a table of options for every section that the file can have. */
export function renderReference(components: readonly Section[]): string {
  const parts = [
    ...fileKinds.map((section) => renderTable(section.title, section)),
    renderTable("[provider:<name>]", PROVIDER),
    ...components.map((section) => renderTable(`[pipeline:<id>:${section.title}]`, section)),
    ...SECTIONS.map(([name, section]) => renderTable(`[${name}:<id>]`, section)),
    renderTable("[forward:<id>]", FORWARD),
    ...[ADMIN, TRACES, SERVICE].map((section) => renderTable(`[${section.title}]`, section)),
  ]
  return [INTRODUCTION, ...parts].join("\n")
}

function renderTable(heading: string, { summary, aliases, options }: Section): string {
  const also =
    aliases.length === 0 ? "" : ` Also called ${aliases.map((alias) => `\`${alias}\``).join(", ")}.`
  const rows = Object.entries(options).map(([key, option]) => renderRow(key, option))
  const table =
    rows.length === 0 ? ["No options."] : ["| key | form | default | meaning |", "|---|---|---|---|", ...rows]
  return [
    `## ${heading.startsWith("[") ? `\`${heading}\`` : heading}`,
    "",
    `${summary}${also}`,
    "",
    ...table,
    "",
  ].join("\n")
}

function renderRow(key: string, option: Option<unknown>): string {
  const cells = [
    `\`${key}\``,
    messageInFile(option.form),
    defaultOf(option),
    [
      option.doc,
      ...describeRelations(option.relations),
      ...(option.secret ? ["Never printed."] : []),
      ...(option.reload === "restart" ? ["A change takes a restart."] : []),
    ].join(" "),
  ]
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`
}

function defaultOf({ presence, defaultText }: Option<unknown>): string {
  if (defaultText === undefined) return presence === "required" ? "required" : "none"
  return defaultText === "" ? "empty" : `\`${defaultText}\``
}

/** Writes into docs/reload.md how a reload applies each option. */
function renderReloadPage(page: string): string {
  const sections = [
    ...fileKinds,
    ...components,
    ...SECTIONS.map(([, section]) => section),
    FORWARD,
    ADMIN,
    TRACES,
    SERVICE,
  ].filter(({ options }) => Object.keys(options).length > 0)
  return replaceParts(page, [sections.map(renderEffects).join("\n")])
}

function renderEffects(section: Section): string {
  const parts = [
    ["taken live", keysBy("live", section)],
    ["opened anew", keysBy("reopen", section)],
    ["with a restart", keysBy("restart", section)],
  ] as const
  const listed = parts.flatMap(([what, keys]) =>
    keys.length === 0 ? [] : `${what}: ${keys.map((key) => `\`${key}\``).join(", ")}`,
  )
  return `- **${section.title}**: ${listed.join("; ")}`
}

/** Writes into docs/command-line.md what each exit status means. */
function renderCommandLine(page: string): string {
  const rows = Object.entries(EXIT_STATUSES).map(([status, meaning]) => `| ${status} | ${meaning} |`)
  return replaceParts(page, [["| status | meaning |", "|---|---|", ...rows].join("\n")])
}

/** Writes how many senders are known, where a page says so in its own sentence. */
function renderCounts(page: string): string {
  const presets = /\d+(?= provider presets)/
  if (!presets.test(page))
    throw new Error("CHANGELOG.md no longer says how many presets there are, as reference.ts expects")
  return page
    .replace(presets, `${Object.keys(PRESETS).length}`)
    .replace(/\d+(?= generic schemes)/, `${Object.keys(GENERIC).length}`)
}

/** Writes into README.md the figures that docs/benchmarks.md and docs/reliability.md have. */
function renderReadme(page: string): string {
  const [, withHmac = ""] =
    /\n## With HMAC-SHA256 of the body\n([^]*?)\n## /.exec(read("benchmarks.md")) ?? []
  const [, histories = ""] = /\n<!-- the history: [^]*?-->\n([^]*?)\n## /.exec(read("reliability.md")) ?? []
  const [, date] = /(\d{4}-\d\d-\d\d), Bun/.exec(withHmac) ?? []
  const [, faults] = /(\d+) faults/.exec(histories) ?? []
  const [, minutes] = /(\d+) minutes/.exec(histories) ?? []
  const [, acknowledged] = /(\d+) acknowledged/.exec(histories) ?? []
  const [lost] = cellsAfter(histories, "`lost-write`: an acknowledged event is not in the log")
  const figure = (text: string | undefined, digits = 0): string => {
    if (text === undefined || Number.isNaN(Number(text)) || date === undefined)
      throw new Error("docs/benchmarks.md or docs/reliability.md lacks a figure of README.md")
    return Number(text).toLocaleString("en", { maximumFractionDigits: digits })
  }
  const measured = RECEIVERS.map(([target, name]) => {
    const [rate, , p99, , cpu] = cellsAfter(withHmac, `${target}, HMAC|64 connections, 1.1 KB`)
    return { name, rate: figure(rate), cpu: `${figure(cpu)} µs`, p99: `${figure(p99, 1)} ms` }
  })
  const each = (of: "rate" | "cpu" | "p99"): string => measured.map((it) => `${it.name} ${it[of]}`).join(", ")
  const intro = `Signed events of 1.1 KB to Kafka with \`acks=all\`, 64 connections, one run of ${date} on two cores that Kafka and the load share ([benchmarks](docs/benchmarks.md#with-hmac-sha256-of-the-body)):`
  const lines = [
    `**Events a second**: ${each("rate")}.`,
    `**CPU of the receiver, an event**: ${each("cpu")}.`,
    `**99th percentile**: ${each("p99")}.`,
    `**Faults**: ${figure(faults)} random ones in ${figure(minutes)} minutes on a cluster of three; of ${figure(acknowledged)} acknowledged events ${figure(lost)} lost ([reliability](docs/reliability.md#random-faults-on-a-cluster)).`,
    `**Senders**: ${Object.keys(PRESETS).length} senders are known by name, from Stripe and GitHub to Amazon SNS ([providers](docs/providers.md)).`,
  ]
  return replaceParts(page, [`${intro}\n\n${lines.map((line) => `- ${line}`).join("\n")}`])
}

/** The rows of docs/benchmarks.md that README.md has, and what it calls them. */
const RECEIVERS: readonly (readonly [target: string, name: string])[] = [
  ["Hookline", "Hookline"],
  ["Go, franz-go", "a handler in Go (franz-go)"],
  ["Redpanda Connect", "Redpanda Connect"],
]

const read = (page: string): string => readFileSync(join(import.meta.dir, "../docs", page), "utf8")

/** The cells of a table's row after those that it begins with. */
const cellsAfter = (table: string, beginning: string): string[] =>
  table
    .split("\n")
    .map((line) => line.replaceAll(/ *\| */g, "|"))
    .find((line) => line.startsWith(`|${beginning}|`))
    ?.slice(beginning.length + 2)
    .split("|") ?? []

const PAGES = {
  "../CHANGELOG.md": renderCounts,
  "../README.md": renderReadme,
  "hookline.1": renderManPage,
  "command-line.md": renderCommandLine,
  "metrics.md": renderMetrics,
  "reference.md": () => renderReference(components),
  "reload.md": renderReloadPage,
  "providers.md": renderProviders,
}

async function writePages(): Promise<void> {
  for (const [name, render] of Object.entries(PAGES)) {
    const path = join(import.meta.dir, "../docs", name)
    const page = readFileSync(path, "utf8")
    const rendered = await render(page)
    if (!process.argv.includes("--check")) {
      writeFileSync(path, rendered)
    } else if (page !== rendered) {
      console.error(`${join("docs", name)} is not current; run: npm run docs`)
      process.exitCode = 1
    }
  }
}

if (import.meta.main) await writePages()
