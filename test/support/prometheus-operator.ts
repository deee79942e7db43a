import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { runToEnd } from "./child.ts"

const MODULE = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
const CRD = "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"

interface Definition {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string
      readonly schema: { readonly openAPIV3Schema: object }
    }[]
  }
}

/**
 * What the Prometheus operator's CRD says of a ServiceMonitor, with unknown fields as errors (the API server drops them
 * silently); from the operator's Go module. A text: why it can't be had.
 */
export async function serviceMonitorCheck(): Promise<ValidateFunction | string> {
  if (Bun.which("go") === null) return "go is not installed"
  const { status, stdout, stderr } = await runToEnd(["go", "mod", "download", "-json", MODULE])
  if (status !== 0) return `go could not fetch ${MODULE}: ${stderr.trim()}`
  const { Dir } = JSON.parse(stdout) as { Dir: string }
  const { spec } = Bun.YAML.parse(await readFile(join(Dir, CRD), "utf8")) as Definition
  const { schema } = spec.versions.find(({ name }) => name === "v1")!
  // formats as int32 are Kubernetes' own
  return new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(
    closed(schema.openAPIV3Schema),
  )
}

/** The schema with `additionalProperties: false` in each object whose properties it names. */
function closed(schema: object): object {
  const entries = Object.entries(schema).map(([key, value]) => [key, closedValue(value)] as const)
  const isOpen = !("properties" in schema) || "x-kubernetes-preserve-unknown-fields" in schema
  return { ...(isOpen ? {} : { additionalProperties: false }), ...Object.fromEntries(entries) }
}

function closedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedValue)
  return typeof value === "object" && value !== null ? closed(value) : value
}
