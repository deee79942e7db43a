/** The version of a release: package.json has it, all other files agree, and CHANGELOG.md has a section for it. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const CHANGELOG = "CHANGELOG.md"
const UNRELEASED = "## [Unreleased]\n"

/** Where else the version stands, with what stands around it. `npm run docs` and npm write the others. */
const PLACES: readonly (readonly [file: string, around: RegExp])[] = [
  ["deploy/helm/hookline/Chart.yaml", /(?<=^(?:version|appVersion): )\S+/gm],
  ["deploy/Dockerfile", /(?<=hookline:)\d\S+/g],
  ["deploy/compose.yaml", /(?<=hookline:)\d\S+/g],
  ["docs/deploying.md", /(?<=hookline:)\d+\.\d+\.\d+/g],
  ["docs/installing.md", /(?<=hookline(?:-chart)?[:_-])\d+\.\d+\.\d+/g],
]
const GENERATED: readonly (readonly [file: string, version: RegExp])[] = [
  ["package-lock.json", /(?<=^\s*"version": ")[^"]+/m],
  ["sbom.cdx.json", /(?<="bom-ref": "hookline@)[^"]+/],
  ["docs/hookline.1", /(?<="hookline )\d[^"]+/],
]

export const versionOf = (source: string): string =>
  (JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as { version: string }).version

/** What does not agree with package.json. */
export function versionProblems(source: string): string[] {
  const version = versionOf(source)
  return [...PLACES, ...GENERATED].flatMap(([file, pattern]) => {
    const found: string[] = [...(readFileSync(join(source, file), "utf8").match(pattern) ?? [])]
    if (found.length === 0) return [`${file} has no version`]
    return found.filter((it) => it !== version).map((it) => `${file} has ${it}, package.json ${version}`)
  })
}

/** Whether CHANGELOG.md begins with the section of package.json's version, and not with changes that are unreleased. */
export function isInChangelog(source: string): boolean {
  const text = readFileSync(join(source, CHANGELOG), "utf8")
  const [, unreleased = "", version] = /^## \[Unreleased\]\n([^]*?)^## \[(\d[^\]]*)\]/m.exec(text) ?? []
  return unreleased.trim() === "" && version === versionOf(source)
}

/** Writes a new version to the files that people write, and closes the section of unreleased changes. */
export function prepareVersion(source: string, version: string, date: string): void {
  for (const [file, pattern] of PLACES) edit(join(source, file), (text) => text.replaceAll(pattern, version))
  edit(join(source, CHANGELOG), (text) =>
    text.replace(UNRELEASED, `${UNRELEASED}\n${changelogHeading(version, date)}`),
  )
}

export const changelogHeading = (version: string, date: string): string => `## [${version}] - ${date}\n`

const edit = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, "utf8")))
