// Hot path: every event of a sink with value_format = json-schema passes here.
import { duration, file, oneOf, text, type Values } from "../../config/options/option-types.ts"
import { type Checking, only } from "../../config/declarations.ts"
import { readCas } from "../../process/pem-files.ts"
import { SCHEMA_RULES } from "../../json/schema.ts"
import type { Event, Processor } from "../../pipeline/event.ts"
import { refusedBody, type Rejected } from "../../pipeline/outcome.ts"
import { unavailable } from "../../pipeline/service-unavailable.ts"
import type { ComponentContext } from "../define-component.ts"
import { SchemaRegistry, type SubjectSchema } from "./schema-registry.ts"
import { SubjectSchemas } from "./subject-schemas.ts"

export const VALUE_FORMAT_OPTIONS = {
  value_format: oneOf(["json", "json-schema"], {
    default: "json",
    doc: "With `json-schema` each event must match the latest schema of the subject `<topic>-value` in a Schema Registry, and the value begins with 0 and the schema's id in 4 bytes, as Confluent's serializers write it; see schema-registry.md.",
  }),
  ...only(
    { value_format: ["json-schema"] },
    {
      registry_url: text({
        optional: true,
        requiredThen: true,
        accepts: isRegistryUrl,
        form: "an http or https URL without credentials, query and fragment",
        doc: "The Schema Registry's API as Confluent's has it.",
      }),
      registry_username: text({
        optional: true,
        needs: "registry_password",
        doc: "For HTTP Basic authentication at the registry.",
      }),
      registry_password: text({
        optional: true,
        secret: true,
        needs: "registry_username",
        doc: "The user's password.",
      }),
      registry_ca_location: file({
        optional: true,
        doc: "PEM file with the CAs that the registry's certificate is checked against, instead of the public ones.",
      }),
      registry_refresh: duration({
        minMs: 100,
        maxMs: 86_400_000,
        default: "1m",
        doc: "How often the registry is asked for a later version of each schema.",
      }),
    },
    "warning",
  ),
}

type Options = typeof VALUE_FORMAT_OPTIONS

function isRegistryUrl(given: string): boolean {
  if (!URL.canParse(given)) return false
  const { protocol, username, password, search, hash } = new URL(given)
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((it) => it === "")
}

/** What the registry's URL means for the other keys. */
export function checkRegistry({
  values,
  isGiven,
  wrong,
  warn,
}: Pick<Checking<Options>, "values" | "isGiven" | "wrong" | "warn">): void {
  if (values.value_format === "json" || values.registry_url === undefined) return
  const { protocol, hostname } = new URL(values.registry_url)
  if (protocol === "https:") return
  if (isGiven("registry_ca_location"))
    wrong("registry_ca_location", "has no effect with an http URL", "conflicting_keys")
  if (isGiven("registry_password") && !/^(localhost|127\..*|\[::1\])$/.test(hostname))
    warn("registry_url", "the password is sent unencrypted; use an https URL")
}

const UNAVAILABLE = unavailable("schema_unavailable")

/** The registered schemas of a sink's topics, and what checks events against them; undefined: events need none. */
export function schemaJudge(
  values: Values<Options> & { readonly topic: string },
  { log, acquire, deliveryTimeoutMs }: Pick<ComponentContext, "log" | "acquire" | "deliveryTimeoutMs">,
): { readonly judge: Processor; readonly schemas: SubjectSchemas } | undefined {
  if (values.value_format === "json") return undefined
  const { topic: sinkTopic, registry_ca_location: caFile, registry_refresh: refreshMs } = values
  const access = {
    url: values.registry_url!,
    username: values.registry_username,
    password: values.registry_password,
    ca: caFile === undefined ? undefined : readCas("registry_ca_location", caFile),
  }
  const schemas = acquire({
    name: "schemas",
    config: [access, refreshMs],
    open: () => new SubjectSchemas(new SchemaRegistry(access), refreshMs, log),
    close: (it) => it.close(),
  })
  const judgeBy = ({ id, findMismatch }: SubjectSchema, event: Event): Event | Rejected => {
    const mismatch = findMismatch(event.body)
    if (mismatch !== undefined) return refusedBody(mismatch.rule, mismatch.problem)
    event.schemaId = id
    return event
  }
  const wait = async (event: Event, topic: string): Promise<Event | Rejected> => {
    const schema = await schemas.wait(topic, event.arrivedMs + deliveryTimeoutMs)
    return typeof schema === "string" ? unavailable("schema_unavailable", schema) : judgeBy(schema, event)
  }
  const judge = (event: Event) => {
    const topic = event.topic ?? sinkTopic
    const schema = schemas.current(topic)
    return schema === undefined ? wait(event, topic) : judgeBy(schema, event)
  }
  const outcomes = [...SCHEMA_RULES.map((rule) => refusedBody(rule, "")), UNAVAILABLE]
  return { judge: Object.assign(judge, { outcomes, isBounded: true }), schemas }
}

/**
 * The value of a record that names the schema of its event:
 *
 *     0         magic byte
 *     1 to 4    the schema's id, big-endian
 *     5 to end  the body
 *
 * https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
 */
export function withSchemaId(id: number, body: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(5 + body.length)
  value[0] = 0
  value.writeUInt32BE(id, 1)
  value.set(body, 5)
  return value
}
