import type { Page } from "./page.ts"

/** What the page shows of an OpenAPI document. */
export interface OpenApi {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
}

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content & { readonly description?: string }
  readonly responses: { readonly [status: string]: Content & { readonly description: string } }
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: {
    readonly type: string
    readonly enum?: readonly string[]
    readonly minimum?: number
    readonly maximum?: number
    readonly default?: unknown
    readonly description?: string
  }
}

interface Content {
  readonly content?: { readonly [type: string]: { readonly schema?: { readonly $ref?: string } } }
}

/** The requests of the admin API, in the order of its OpenAPI document, which has all of it. */
export function apiPage(document: OpenApi): Page {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      describe(`${method.toUpperCase()} ${path}`, operation),
    ),
  )
  const introduction = [
    "# Admin API",
    "",
    "Each request of the admin API, what it takes and what it answers. [The OpenAPI document](/openapi.json) has the schemas; a running Hookline answers it at `/api/openapi.json`. [Tokens, and examples with curl](admin.md), are on a page of their own.",
    "",
  ]
  return {
    route: "admin-api",
    file: "docs/admin-api.md",
    markdown: [...introduction, ...operations].join("\n"),
  }
}

function describe(heading: string, operation: Operation): string[] {
  const { summary, description, parameters = [], requestBody, responses } = operation
  const rows = parameters.map(
    ({ name, in: place, required, schema }) =>
      `| \`${name}\` | ${place} | ${required === true ? "yes" : ""} | ${cell(formOf(schema))} | ${cell(schema.description ?? "")} |`,
  )
  const answers = Object.entries(responses).map(
    ([status, response]) => `| ${status} | ${typesOf(response)} | ${cell(response.description)} |`,
  )
  return [
    `## \`${heading}\``,
    "",
    ...[summary, description].flatMap((it) => (it === undefined ? [] : [it, ""])),
    ...(rows.length === 0
      ? []
      : ["| parameter | in | required | form | meaning |", "|---|---|---|---|---|", ...rows, ""]),
    ...(requestBody === undefined
      ? []
      : [`The body is ${typesOf(requestBody)}. ${requestBody.description ?? ""}`, ""]),
    "| answer | body | meaning |",
    "|---|---|---|",
    ...answers,
    "",
  ]
}

const formOf = (schema: Parameter["schema"]): string => {
  const { type, minimum, maximum, default: byDefault } = schema
  const form = schema.enum?.map((it) => `\`${it}\``).join(", ") ?? type
  const range =
    minimum === undefined ? "" : ` from ${minimum}${maximum === undefined ? "" : ` to ${maximum}`}`
  return `${form}${range}${byDefault === undefined ? "" : `, by default ${JSON.stringify(byDefault)}`}`
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ")

const typesOf = ({ content = {} }: Content): string =>
  Object.entries(content)
    .map(([type, { schema }]) => {
      const name = schema?.$ref?.split("/").at(-1)
      return name === undefined ? `\`${type}\`` : `\`${type}\`: ${name}`
    })
    .join(", ")
