import type { Static, TObject, TSchema } from "typebox"
import { Value } from "typebox/value"
import type { Peer } from "../../http/routes.ts"
import { ApiError } from "./problem.ts"

/** A request whose parts are as the route declares them. */
export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly request: Request
  /** The server of the request. */
  readonly connection: Peer
}

type Method = "GET" | "POST" | "PUT" | "DELETE"

interface Declared<P extends TObject, Q extends TObject, B extends TSchema, R extends TSchema> {
  readonly summary: string
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** The schema of a JSON answer; undefined: 204. */
  readonly response?: R
  /** The events of an answer that is a stream of them, by name. */
  readonly events?: { readonly [name: string]: TSchema }
  /** Whether callers need no token. */
  readonly isOpen?: boolean
  readonly answer: (
    asked: Asked<Static<P>, Static<Q>, Static<B>>,
  ) => Static<R> | Response | Promise<Static<R> | Response>
}

/** A route, declared once: router, validation and OpenAPI description are made from it. */
export type ApiRoute = Omit<Declared<TObject, TObject, TSchema, TSchema>, "answer"> & {
  readonly method: Method
  readonly path: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly answer: (asked: Asked<any, any, any>) => unknown
}

/** @param place `GET /api/captures/:id`, with parameters as `:name` */
export function route<P extends TObject, Q extends TObject, B extends TSchema, R extends TSchema>(
  place: `${Method} /api/${string}`,
  declared: Declared<P, Q, B, R>,
): ApiRoute {
  const [method, path] = place.split(" ") as [Method, string]
  return { ...declared, method, path } as ApiRoute
}

/** Texts of a path or query as the schema wants them. @throws ApiError 400 */
export function readTexts(
  texts: Iterable<readonly [name: string, text: string]>,
  schema: TObject | undefined,
  where: string,
): { readonly [name: string]: unknown } {
  const values: { [name: string]: unknown } = Object.create(null)
  for (const [name, text] of texts) {
    const known = schema !== undefined && Object.hasOwn(schema.properties, name)
    if (!known) throw new ApiError(400, `${where}: unknown parameter ${JSON.stringify(name.slice(0, 100))}`)
    if (name in values) throw new ApiError(400, `${where}: ${name} is there twice`)
    values[name] = toValue(text, schema.properties[name] as { type?: string })
  }
  if (schema !== undefined) check(values, schema, where)
  return values
}

function toValue(text: string, { type }: { type?: string }): unknown {
  if ((type === "integer" || type === "number") && /^-?\d{1,300}(\.\d{1,300})?(e[+-]?\d{1,3})?$/i.test(text))
    return Number(text)
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true"
  return text
}

/** @throws ApiError 400 naming the first place that does not fit */
export function check(value: unknown, schema: TSchema, where: string): void {
  if (Value.Check(schema, value)) return
  const [first] = Value.Errors(schema, value)
  const at = first?.instancePath.slice(1).replaceAll("/", ".") ?? ""
  const problem =
    first?.keyword === "enum"
      ? `must be one of ${first.params.allowedValues.join(", ")}`
      : (first?.message ?? "does not fit")
  throw new ApiError(400, `${where}${at && `, ${at}`}: ${problem}`)
}
