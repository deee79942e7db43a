import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Page } from "./page.ts"

/** What the library exports: its declarations, as the compiler writes them for the package. */
export function libraryPage(root: string): Page {
  const folder = mkdtempSync(join(tmpdir(), "hookline-declarations-"))
  try {
    const tsc = join(root, "node_modules/.bin/tsc")
    const command = [tsc, "-p", "tsconfig.build.json", "--outDir", folder, "--emitDeclarationOnly"]
    const { success, stdout } = Bun.spawnSync(command, { cwd: root })
    if (!success) throw new Error(stdout.toString())
    const sections = exportsOf(folder).map(([name, file]) => sectionOf(name, join(folder, file)))
    const markdown = `# Library API

Everything that \`import … from "hookline"\` has. [The library](library.md) says how it is used, and [hookline/verify](verify.md) has entries of its own. Options have the meaning and the default of [the reference](reference.md).

${sections.join("\n")}`
    return { route: "library-api", file: "docs/library-api.md", markdown }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Names, each with its module. */
function exportsOf(folder: string): [name: string, file: string][] {
  const index = readFileSync(join(folder, "index.d.ts"), "utf8")
  return [...index.matchAll(/^export (?:type )?(\{[^}]*\}|\*) from "(.*?)\.ts"/gm)].flatMap(
    ([, names, from]) => {
      const file = `${from}.d.ts`
      const declared = readFileSync(join(folder, file), "utf8").matchAll(/^export (?:declare )?\w+ (\w+)/gm)
      const all = names === "*" ? [...declared].map(([, name]) => name!) : names!.match(/\w+/g)!
      return all.filter((it) => it !== "type").map((name): [string, string] => [name, file])
    },
  )
}

/** A declaration and the comment before it; of a module that passes it on, those where it comes from. */
function sectionOf(name: string, file: string): string {
  const text = readFileSync(file, "utf8")
  const found = new RegExp(
    String.raw`(?:^/\*\*((?:(?!\*/)[^])*)\*/\n)?^export (?:declare )?(?:abstract )?((?:const|function|class|interface|type) ${name}\b(?:.*;$|[^]*?^\}.*$))`,
    "m",
  ).exec(text)
  if (found === null) {
    const passed = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from "(.*?)\.ts"/gm)]
    const origin = passed.find(([, names]) => new RegExp(String.raw`\b${name}\b`).test(names!))
    if (origin === undefined) throw new Error(`${file} has no declaration of ${name}`)
    return sectionOf(name, join(dirname(file), `${origin[2]}.d.ts`))
  }
  const [, comment = "", declaration = ""] = found
  const said = comment
    .replaceAll(/^ *\* ?/gm, "")
    .trim()
    .replaceAll(/^(@\w+)/gm, "- `$1`")
  return [
    `## ${name}`,
    "",
    ...(said === "" ? [] : [said, ""]),
    "```ts",
    declaration.replace("    #private;\n", "").replaceAll("    ", "  "),
    "```",
    "",
  ].join("\n")
}
