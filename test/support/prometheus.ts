import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endingWithThisProcess, untilAnswers } from "./child.ts"
import { freePort } from "./ports.ts"
import { hasTools } from "./tools.ts"

/** As `hasTools`. */
export const hasPrometheus = (): boolean => hasTools("promtool", "prometheus")

/** One series, or one line of a scrape: its labels, with `__name__`, and its value. */
export interface Sample {
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

export interface RunningPrometheus extends AsyncDisposable {
  /** The result of an instant query; rejects with Prometheus' message for an invalid one. */
  query(expression: string): Promise<readonly Sample[]>
}

/** Starts a Prometheus that scrapes each job's URL every second, and waits until it has scraped all. */
export async function startPrometheus(jobs: { readonly [job: string]: string }): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-prometheus-"))
  const listen = `127.0.0.1:${await freePort()}`
  const configuration = {
    global: { scrape_interval: "1s" },
    scrape_configs: Object.entries(jobs).map(([job_name, url]) => ({
      job_name,
      metrics_path: new URL(url).pathname,
      static_configs: [{ targets: [new URL(url).host] }],
    })),
  }
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify(configuration))
  const child = Bun.spawn(
    endingWithThisProcess(
      "prometheus",
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${listen}`,
    ),
    { stdout: "ignore", stderr: "pipe" },
  )
  const logged = new Response(child.stderr).text()
  const query = async (expression: string): Promise<readonly Sample[]> => {
    const answer = await fetch(`http://${listen}/api/v1/query`, {
      method: "POST",
      body: new URLSearchParams({ query: expression }),
    })
    const { data, error } = (await answer.json()) as QueryAnswer
    if (data === undefined) throw new Error(`${expression}: ${error}`)
    return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
  }
  const hasScraped = async (): Promise<boolean> =>
    (await query("up == 1")).length === Object.keys(jobs).length
  await untilAnswers(child, hasScraped, logged)
  return {
    query,
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
      rmSync(folder, { recursive: true })
    },
  }
}

interface QueryAnswer {
  readonly error?: string
  readonly data?: {
    readonly result: readonly {
      readonly metric: { readonly [name: string]: string }
      readonly value: readonly [number, string]
    }[]
  }
}

/** The lines of a scrape. */
export function samplesIn(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined) return []
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, of]) => [key!, of!])
    return [{ labels: { ...Object.fromEntries(pairs), __name__: name }, value: Number(value) }]
  })
}

/** A vector selector of an expression. */
export interface Selector {
  readonly metric: string
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[]
}

/** The selectors of an expression, as far as they have the names of an exporter's metrics. */
export const selectorsIn = (expression: string): Selector[] =>
  [...expression.matchAll(/\b((?:hookline|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, metric, matchers = ""]) => ({
      metric: metric!,
      matchers: [...matchers.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
        ([, label, operator, value]) => ({ label: label!, operator: operator!, value: value! }),
      ),
    }),
  )

/** Whether a sample is selected, apart from the labels that a scrape adds and a dashboard's variables. */
export function selects({ metric, matchers }: Selector, { labels }: Sample): boolean {
  if (labels["__name__"] !== metric) return false
  return matchers.every(({ label, operator, value }) => {
    if (label === "job" || label === "instance") return true
    const has = labels[label]
    if (has === undefined) return false
    if (value.startsWith("$")) return true
    const isEqual = operator.endsWith("~") ? new RegExp(`^(?:${value})$`).test(has) : has === value
    return operator.startsWith("!") ? !isEqual : isEqual
  })
}
