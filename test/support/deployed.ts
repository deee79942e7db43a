import { readFileSync } from "node:fs"
import { join } from "node:path"

/** All that `check` says of an [admin] that listens in a container, to which only the kubelet or this machine gets. */
export const PLAIN_ADMIN = /^warning: [^\n]*\[admin\] listen: [^\n]*without TLS[^\n]*\n$/

const DEPLOY = join(import.meta.dir, "../../deploy")

export const RULES_FILE = join(DEPLOY, "prometheus/alerts.yml")
export const RULES_TEST_FILES = ["alerts.test.yml", "alerts-long.test.yml"].map((name) =>
  join(DEPLOY, "prometheus", name),
)

export interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}

export const rules: readonly Rule[] = (
  Bun.YAML.parse(readFileSync(RULES_FILE, "utf8")) as RuleFile
).groups.flatMap((group) => group.rules)

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly datasource?: { readonly type: string; readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly {
    readonly refId: string
    readonly expr: string
    readonly legendFormat: string
  }[]
}

interface Dashboard {
  readonly uid: string
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] }
  readonly panels: readonly Panel[]
}

export const dashboard = JSON.parse(readFileSync(join(DEPLOY, "grafana/hookline.json"), "utf8")) as Dashboard
