import { readJson } from "../../json/read.ts"
import { compileSchema, type FindMismatch, type SchemaSet } from "../../json/schema.ts"
import { fetchBounded } from "../../outgoing/fetch-bounded.ts"
import { fetchFailure, proxiedFetch } from "../../outgoing/proxied-fetch.ts"

/** How a registry is reached. */
export interface RegistryAccess {
  readonly url: string
  readonly username: string | undefined
  readonly password: string | undefined
  /** CAs in PEM; undefined: the public ones. */
  readonly ca: string | undefined
}

/** The latest version of a subject, compiled. */
export interface SubjectSchema {
  /** What records name it by, 4 bytes. */
  readonly id: number
  readonly version: number
  readonly findMismatch: FindMismatch
}

/** The registry answers, and has no usable schema of the subject. The message follows the subject's name. */
export class UnusableSubject extends Error {}

/** No usable answer: the registry is unreachable, or refuses the client. The message is the reason. */
export class RegistryUnavailable extends Error {}

const BOUNDS = { mostBytes: 4 * 1024 * 1024, timeoutMs: 5000 } as const
/** Schemas that one refers to, over all levels. */
const MOST_REFERENCES = 100

interface Reference {
  readonly name: string
  readonly subject: string
  readonly version: number
}

interface Version {
  readonly id: number
  readonly version: number
  readonly schema: string
  readonly references: readonly Reference[]
}

/**
 * A Schema Registry by the API of Confluent's, which Apicurio, Redpanda and Karapace have too.
 * https://docs.confluent.io/platform/current/schema-registry/develop/api.html#subjects
 */
export class SchemaRegistry {
  /** Without credentials. */
  readonly url: string
  readonly #init: RequestInit & { readonly tls?: { readonly ca: string } }

  constructor({ url, username, password, ca }: RegistryAccess) {
    this.url = url.replace(/\/+$/, "")
    const basic = Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64")
    this.#init = {
      headers: {
        Accept: "application/vnd.schemaregistry.v1+json, application/json",
        ...(username !== undefined && { Authorization: `Basic ${basic}` }),
      },
      ...(ca !== undefined && { tls: { ca } }),
    }
  }

  /**
   * @param current what is known of the subject: returned itself where it is still the latest
   * @param warn receives unknown keywords of a new version
   * @throws UnusableSubject, RegistryUnavailable
   */
  async latest(
    subject: string,
    current: SubjectSchema | undefined,
    warn: (message: string) => void,
  ): Promise<SubjectSchema> {
    const { id, version, schema, references } = await this.#version(subject, "latest")
    if (current?.id === id && current.version === version) return current
    try {
      const set = { schema: JSON.parse(schema) as unknown, references: await this.#resolve(references) }
      return { id, version, findMismatch: compileSchema(set, "draft-07", warn) }
    } catch (error) {
      if (error instanceof RegistryUnavailable) throw error
      const { message } = error as Error
      throw new UnusableSubject(`version ${version} is not a usable JSON Schema: ${message}`, {
        cause: error,
      })
    }
  }

  async #resolve(references: readonly Reference[]): Promise<SchemaSet["references"]> {
    const resolved = new Map<string, unknown>()
    const open = [...references]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { name, subject, version } = next
      if (resolved.has(name)) continue
      if (resolved.size === MOST_REFERENCES) throw new Error(`it has more than ${MOST_REFERENCES} references`)
      const found = await this.#version(subject, String(version))
      resolved.set(name, JSON.parse(found.schema))
      open.push(...found.references)
    }
    return [...resolved].map(([name, schema]) => ({ name, schema }))
  }

  async #version(subject: string, version: string): Promise<Version> {
    const url = `${this.url}/subjects/${encodeURIComponent(subject)}/versions/${version}`
    const { status, bytes } = await fetchBounded({ fetch: proxiedFetch }, url, {
      ...BOUNDS,
      ...this.#init,
    }).catch((cause: unknown) => {
      throw new RegistryUnavailable(fetchFailure(cause, "registry_ca_location"), { cause })
    })
    const answer = (readJson(bytes) ?? {}) as Answer
    if (status === 404 && isUnknown(answer)) throw new UnusableSubject("is not registered")
    if (status !== 200) throw new RegistryUnavailable(`HTTP ${status}${HINTS[status] ?? ""}`)
    return readVersion(answer)
  }
}

const CREDENTIALS = "; check registry_username and registry_password"
const HINTS: { readonly [status: number]: string } = {
  401: CREDENTIALS,
  403: CREDENTIALS,
  404: "; is registry_url the registry's API?",
}

type Answer = { readonly [key: string]: unknown }

/** Whether the registry knows no such subject (40401) or version (40402). */
const isUnknown = ({ error_code: code }: Answer): boolean => code === 40401 || code === 40402

/** @throws UnusableSubject, RegistryUnavailable */
function readVersion(answer: Answer): Version {
  const { id, version, schema, schemaType = "AVRO", references } = answer
  if (typeof schema !== "string" || !isInt32(id) || !isInt32(version))
    throw new RegistryUnavailable("the answer has no schema; is registry_url the registry's API?")
  if (schemaType !== "JSON")
    throw new UnusableSubject(`has a schema of type ${String(schemaType).slice(0, 20)}, not JSON`)
  return { id, version, schema, references: Array.isArray(references) ? references.filter(isReference) : [] }
}

const isInt32 = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31

function isReference(value: unknown): value is Reference {
  const { name, subject, version } = (value ?? {}) as { readonly [key: string]: unknown }
  return typeof name === "string" && typeof subject === "string" && isInt32(version)
}
