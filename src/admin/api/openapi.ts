import { type ObjectShape, type Shape, Type } from "./shape.ts"
import manifest from "../../../package.json" with { type: "json" }
import { COOKIE } from "../access.ts"
import { route, type ApiRoute } from "./route.ts"
import * as shapes from "./shapes.ts"

/**
 * The route of the API's own description, which lists it as well.
 *
 * @param named further schemas that others refer to by name
 */
export function openApiRoute(routes: readonly ApiRoute[], named: NamedShapes): ApiRoute {
  const own: ApiRoute = route("GET /api/openapi.json", {
    summary: "This description (OpenAPI 3.1).",
    response: Type.Object({}),
    answer: () => describe([...routes, own], named),
  })
  return own
}

interface NamedShapes {
  readonly [name: string]: Shape
}

/** An OpenAPI 3.1 document, whose schemas are JSON Schema as they are declared; each that has a name stands there once. */
export function describe(routes: readonly ApiRoute[], named: NamedShapes): object {
  const schemas = Object.entries<Shape>({ ...shapes, ...named }).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const names = new Map<unknown, string>(schemas.map(([name, schema]) => [schema, name]))
  const text = JSON.stringify(documentOf(routes, Object.fromEntries(schemas)), (key, value: unknown) => {
    const name = names.get(value)
    return name === undefined || name === key ? value : { $ref: `#/components/schemas/${name}` }
  })
  return JSON.parse(text) as object
}

function documentOf(routes: readonly ApiRoute[], schemas: NamedShapes): object {
  const paths: { [path: string]: { [method: string]: object } } = {}
  for (const it of routes) {
    const path = it.path.replace(/:(\w+)/g, "{$1}")
    ;(paths[path] ??= {})[it.method.toLowerCase()] = operation(it)
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Hookline admin API",
      version: manifest.version,
      description: manifest.description,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The listener of [admin], which serves this document." }],
    paths,
    components: {
      schemas: { Problem: PROBLEM, ...schemas },
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A token of [admin], where one is set." },
        session: { type: "apiKey", in: "cookie", name: COOKIE, description: "Of POST /api/session." },
      },
    },
  }
}

const PROBLEM = {
  type: "object",
  required: ["type", "title", "status", "detail"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
  },
}

/** What a request is refused with, whatever the route does. */
const REFUSED: { readonly [status: number]: string } = {
  400: "A parameter or the body is not as described here.",
  401: "The token is missing or wrong.",
  403: "The request is of another site's page, or read_token was sent where token is needed.",
  404: "There is none of this name.",
  413: "The body is too large.",
  415: "Content-Type is not application/json.",
}

function refusals({ params, query, body }: ApiRoute): object {
  const statuses = [
    ...(params === undefined && query === undefined && body === undefined ? [] : [400]),
    401,
    403,
    ...(params === undefined ? [] : [404]),
    ...(body === undefined ? [] : [413, 415]),
  ]
  return Object.fromEntries(statuses.map((status) => [status, refused(REFUSED[status]!)]))
}

const refused = (description: string): object => ({
  description,
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
})

function operation(route: ApiRoute): object {
  const { method, path, summary, params, query, body, response, events, isOpen } = route
  return {
    operationId: nameOf(method, path),
    summary,
    security: isOpen === true ? [] : [{ bearer: [] }, { session: [] }, {}],
    parameters: [...parameters(params, "path"), ...parameters(query, "query")],
    ...(body !== undefined && { requestBody: { required: true, content: json(body) } }),
    responses: {
      ...answers(response, events),
      ...refusals(route),
      default: refused("An error."),
    },
  }
}

function answers(response: Shape | undefined, events: ApiRoute["events"]): object {
  if (events !== undefined) {
    const texts = Object.entries(events).map(([name, schema]) => ({ title: name, allOf: [schema] }))
    return {
      200: {
        description: `Server-sent events: ${Object.keys(events).join(", ")}. The schema is that of their data.`,
        content: { "text/event-stream": { schema: texts.length === 1 ? texts[0] : { oneOf: texts } } },
      },
    }
  }
  return response === undefined
    ? { 204: { description: "Done." } }
    : { 200: { description: "The answer.", content: json(response) } }
}

const json = (schema: Shape): object => ({ "application/json": { schema } })

const parameters = (schema: ObjectShape | undefined, where: "path" | "query"): object[] =>
  Object.entries(schema?.properties ?? {}).map(([name, of]) => ({
    name,
    in: where,
    required: schema?.required?.includes(name) ?? false,
    schema: of,
  }))

/** `getRecordsLive`, `postCapturesIdResend` */
const nameOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .slice("/api/".length)
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")
