import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { packagesOfUsers, ROOT, type Package } from "./packages.ts"

const HEAD = `# Third-party notices

Hookline is under the MIT licence (LICENSE). What is installed with it, and what is bundled into its own files (the admin page,
the AWS SDK's credentials, the server of the Model Context Protocol), is the work of others, under the licences below. An
executable has all of it but Bun's packages for other platforms. Generated from the packages by \`npm run docs\`; do not edit.
Packages that only tests and builds need are not listed.

**Bun**, which runs Hookline, is a program of its own, installed unchanged from its npm packages. It is under the MIT licence
and links libraries under other ones, JavaScriptCore and WebKit among them (LGPL-2); https://bun.com/docs/project/license lists
them and says how to relink it.

**Apache Kafka**: src/kafka-protocol/messages.ts has the fields of Kafka's messages, taken from the
specifications in Apache Kafka 4.1.0 and rewritten in another form. Copyright 2025 The Apache Software Foundation; under the
Apache License, Version 2.0, https://www.apache.org/licenses/LICENSE-2.0, whose text is below with @platformatic/kafka. This
product includes software developed at The Apache Software Foundation (https://www.apache.org/).

**@modelcontextprotocol/server** has Ajv and ajv-formats in its own files. Copyright (c) 2015-2021 and 2020 Evgeny Poberezkin; both
are under the MIT licence, whose text is below with ajv.
`

/** The packages that users have, with the texts of their licences. */
export function renderNotices(): string {
  const packages = packagesOfUsers()
  const rows = packages.map(
    ({ name, version, license, isBundled }) =>
      `| ${name} | ${version} | ${license} | ${isBundled ? "bundled" : "installed"} |`,
  )
  const table = ["| package | version | licence | it is |", "| --- | --- | --- | --- |", ...rows].join("\n")
  // those for single platforms are of the package that wants them, and under its licence
  const texts = packages.filter(({ isOfPlatform }) => !isOfPlatform).map(renderLicence)
  return `${HEAD}\n${table}\n\n${texts.join("\n")}`
}

function renderLicence({ path, name, version, license }: Package): string {
  const folder = join(ROOT, path)
  const files = readdirSync(folder).filter((file) => /^(?:licen[sc]e|copying|notice)/i.test(file))
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), "utf8").trim())
  const body =
    texts.length === 0 ? `The package has no text of its licence (${license}).` : texts.join("\n\n")
  const lines = body.split(/\r?\n/).map((line) => `    ${line}`.trimEnd())
  return `## ${name} ${version}\n\n${lines.join("\n")}\n`
}
