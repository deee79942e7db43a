import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { compileSchema, type FindMismatch, type SchemaSet } from "../../src/json/schema.ts"
import { runToEnd } from "../support/child.ts"
import { hasTools, lacks } from "../support/tools.ts"

/*
 * The official JSON Schema Test Suite, as the source of PyPI's jsonschema has it: npm has no package of it that installs
 * without git.
 */
const RELEASE = "jsonschema-4.26.0"
const CACHE = join(import.meta.dir, "../../node_modules/.cache/hookline-python")
const SUITE = join(CACHE, RELEASE, "json")

interface Group {
  readonly description: string
  readonly schema: object
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

const isHere = await fetchSuite()

/** The cases that are refused when they are loaded, and what the message names: docs/limits.md lists it. */
const UNRESOLVED = { "ref.json: remote ref, containing refs itself": "failed to resolve $ref" }
const METASCHEMAS = {
  "vocabulary.json: schema that uses custom metaschema with with no validation vocabulary":
    "its $schema at #",
  "vocabulary.json: ignore unrecognized optional vocabulary": "its $schema at #",
}
const DRAFTS = [
  {
    draft: "2020-12",
    folder: "draft2020-12",
    right: 1244,
    refused: {
      ...UNRESOLVED,
      ...METASCHEMAS,
      "defs.json: validate definition against metaschema": "failed to resolve $ref",
      "unevaluatedItems.json: unevaluatedItems with $dynamicRef": "$dynamicRef at #/$defs/baseSchema",
      "unevaluatedProperties.json: unevaluatedProperties with $dynamicRef":
        "$dynamicRef at #/$defs/baseSchema",
    },
  },
  {
    draft: "2019-09",
    folder: "draft2019-09",
    right: 1214,
    refused: {
      ...UNRESOLVED,
      ...METASCHEMAS,
      "defs.json: validate definition against metaschema": "failed to resolve $ref",
      "unevaluatedItems.json: unevaluatedItems with $recursiveRef": "$recursiveRef at #/$defs/tree/items/1",
      "unevaluatedProperties.json: unevaluatedProperties with $recursiveRef":
        "$recursiveRef at #/$defs/tree/properties/branches",
    },
  },
  {
    draft: "draft-07",
    folder: "draft7",
    right: 909,
    refused: {
      ...UNRESOLVED,
      "definitions.json: validate definition against metaschema": "failed to resolve $ref",
    },
  },
] as const

test.skipIf(!isHere).each(DRAFTS)(
  "the official tests of $draft: what is invalid does not pass, what is valid does, the rest is refused by name",
  async ({ draft, folder, right, refused }) => {
    const named: { readonly [group: string]: string } = refused
    const wrong: string[] = []
    const unexpected: { [group: string]: string } = {}
    let found = 0
    for (const [file, group] of await groupsIn(join(SUITE, "tests", folder))) {
      const name = `${file}: ${group.description}`
      let findMismatch: FindMismatch
      try {
        const references = await remotesFor(group, folder)
        findMismatch = compileSchema({ schema: asObject(group.schema), references }, draft, () => {})
      } catch (error) {
        const { message } = error as Error
        if (named[name] === undefined || !message.includes(named[name])) unexpected[name] = message
        continue
      }
      for (const { description, data, valid } of group.tests) {
        if ((findMismatch(Buffer.from(JSON.stringify(data))) === undefined) === valid) found++
        else
          wrong.push(
            `${name}: ${description}: ${valid ? "is valid and was refused" : "is invalid and passed"}`,
          )
      }
    }
    expect({ wrong, unexpected, right: found }).toEqual({ wrong: [], unexpected: {}, right })
  },
)

/** A schema that is a boolean, within one. */
const asObject = (schema: object | boolean): object =>
  typeof schema === "boolean" ? { allOf: [schema] } : schema

async function groupsIn(folder: string): Promise<(readonly [file: string, Group])[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).toSorted()
  const groups = await Promise.all(
    files.map(async (file) =>
      ((await Bun.file(join(folder, file)).json()) as Group[]).map((it) => [file, it] as const),
    ),
  )
  return groups.flat()
}

/** The suite's other documents, as a registry would have them, where the schema is of their address. */
async function remotesFor({ schema }: Group, folder: string): Promise<SchemaSet["references"]> {
  if (!JSON.stringify(schema).includes("localhost:1234")) return []
  const remotes = join(SUITE, "remotes")
  return await Promise.all(
    [...new Bun.Glob("**/*.json").scanSync(remotes)]
      .filter(
        (name) =>
          (name.startsWith(`${folder}/`) || !name.startsWith("draft")) && !name.includes("metaschema"),
      )
      .map(async (name) => ({
        name: `http://localhost:1234/${name}`,
        schema: (await Bun.file(join(remotes, name)).json()) as unknown,
      })),
  )
}

/** Fetches the suite if it does not exist yet; false: it can't be had. */
async function fetchSuite(): Promise<boolean> {
  if (existsSync(SUITE)) return true
  if (!hasTools("python3")) return false
  await mkdir(CACHE, { recursive: true })
  const fetching = await mkdtemp(join(CACHE, "fetching-"))
  try {
    const pip = ["python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    const source = ["--no-deps", "--no-binary", "jsonschema", RELEASE.replace("-", "==")]
    const { status, stderr } = await runToEnd([...pip, ...source, "--dest", fetching])
    if (status !== 0) return lacks(`pip could not download ${RELEASE}: ${stderr.trim()}`, ["python3-pip"])
    const unpacked = await runToEnd(["tar", "-xzf", join(fetching, `${RELEASE}.tar.gz`), "-C", fetching])
    expect([unpacked.status, unpacked.stderr]).toEqual([0, ""])
    // another process may have been faster
    await rename(join(fetching, RELEASE), join(CACHE, RELEASE)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
    })
    return true
  } finally {
    await rm(fetching, { recursive: true, force: true })
  }
}
