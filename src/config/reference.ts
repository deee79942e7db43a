import { ADMIN } from "./admin.ts"
import { EMBEDDED } from "./embedded-connection.ts"
import { KAFKA } from "./kafka-connection.ts"
import type { Option } from "./option.ts"
import type { Section } from "./section.ts"
import { SERVICE } from "./service.ts"

const INTRODUCTION = `# Reference of the configuration file

Generated from the declarations of the options by \`npm run docs\`; do not edit.

The file is \`-c FILE\`, else \`$HOOKLINE_CONFIG\`, else \`./pipelines.conf\`. \`hookline check\` reads it and tells
everything that is wrong with it.

\`\`\`ini
# A comment; so is a line that begins with ; and neither ends a value.
[connection:kafka]
bootstrap_servers =
    kafka-1:9092
    kafka-2:9092
client_id: \${HOSTNAME:-hookline}
\`\`\`

- Sections are \`[connection:<id>]\`, \`[pipeline:<id>:<Component>]\`, \`[admin]\` and \`[service]\`. A pipeline is every section
  that shares its id; it needs a WebHookSource and a BrokerSink; Validator and Enricher are always there.
- \`key = value\` or \`key: value\`; keys are case-insensitive. A line that is indented deeper than its key continues the
  value. A key without a value is an error where empty is not the default: leave the key out for its default.
- \`\${NAME}\` is the environment's variable, \`\${NAME:-default}\` has a default for when it is unset or empty,
  \`\${file:/run/secrets/name}\` is a file's text without its last line end, \`$\${\` is a literal \`\${\`. What is put in is
  never printed.
- Durations are \`500ms\`, \`5s\`, \`2m\`, \`24h\`, \`7d\`; sizes \`512KiB\`, \`1MiB\`, also in plain bytes; lists go by comma or line.
  Relative paths start from the file's folder.
- Options that code gives win over those of the file, and those over the defaults. In code keys have the same names,
  durations are numbers of milliseconds and sizes numbers of bytes.
`

/** Writes docs/reference.md: a table of options for every section that the file can have. */
export function renderReference(components: readonly Section[]): string {
  const parts = [
    ...[KAFKA, EMBEDDED].map((section) => renderSection(section.title, section)),
    ...components.map((section) => renderSection(`[pipeline:<id>:${section.title}]`, section)),
    ...[ADMIN, SERVICE].map((section) => renderSection(`[${section.title}]`, section)),
  ]
  return [INTRODUCTION, ...parts].join("\n")
}

function renderSection(heading: string, { summary, aliases, options }: Section): string {
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
    option.form,
    defaultOf(option),
    `${option.doc}${option.secret ? " Never printed." : ""}`,
  ]
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`
}

function defaultOf({ presence, defaultText }: Option<unknown>): string {
  if (defaultText === undefined) return presence === "required" ? "required" : "none"
  return defaultText === "" ? "empty" : `\`${defaultText}\``
}
