import { expect, test } from "bun:test"
import { MetricRegistry } from "./metric-registry.ts"
import { expose } from "./text-formats.ts"

const textOf = (registry: MetricRegistry, accept?: string): Promise<string> =>
  new Response(expose(registry.all, accept).body).text()

test("texts are escaped, values are written in full", async () => {
  const registry = new MetricRegistry()
  const values = [
    0,
    0.1 + 0.2,
    1e21,
    1e-9,
    -5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ]
  registry.reading({ name: "g", help: "a help\nof two \\ lines", labels: ["a", "b"] }, () => [
    ...["", 'quote"', "back\\slash", "line\nfeed", "ümläut 😀}"].map((a) => [[a, 1], 1] as const),
    ...values.map((value, b) => [["", b], value] as const),
  ])
  registry.tallies("without_series_total", "h", ["a"])
  expect(await textOf(registry)).toBe(`# HELP g a help\\nof two \\\\ lines
# TYPE g gauge
g{a="",b="1"} 1
g{a="quote\\"",b="1"} 1
g{a="back\\\\slash",b="1"} 1
g{a="line\\nfeed",b="1"} 1
g{a="ümläut 😀}",b="1"} 1
g{a="",b="0"} 0
g{a="",b="1"} 0.30000000000000004
g{a="",b="2"} 1e+21
g{a="",b="3"} 1e-9
g{a="",b="4"} -5
g{a="",b="5"} NaN
g{a="",b="6"} +Inf
g{a="",b="7"} -Inf

# HELP without_series_total h
# TYPE without_series_total counter
`)
})

test("a text longer than a piece is whole", async () => {
  const registry = new MetricRegistry()
  const series = Array.from({ length: 20_000 }, (_, n) => `c_total{a="${n}"} ${n}`)
  const tallies = registry.tallies("c_total", "h", ["a"])
  for (const n of series.keys()) tallies.at(n).add(n)
  for (const name of ["d_total", "e_total"]) registry.tallies(name, "h").at()
  const heads = ["c", "d", "e"].map((it) => `# HELP ${it}_total h\n# TYPE ${it}_total counter`)
  const [c, d, e] = heads as [string, string, string]
  expect(await textOf(registry)).toBe([c, ...series, "", d, "d_total 0", "", e, "e_total 0", ""].join("\n"))
})

test("a scrape gets OpenMetrics where it asks for that version, and text else", () => {
  const typeFor = (accept: string | null): string => expose([], accept).contentType.split(";")[0]!
  const PROMETHEUS =
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
  for (const accept of [
    PROMETHEUS,
    "application/openmetrics-text",
    "Application/OpenMetrics-Text; version=1.0.0",
  ])
    expect(typeFor(accept)).toBe("application/openmetrics-text")
  for (const accept of [
    null,
    "",
    "*/*",
    "text/html, application/json",
    "application/openmetrics-text; version=2.0.0",
    "application/openmetrics-text;q=0",
    "text/plain, application/openmetrics-text;q=0.5",
    "application/openmetrics-text;q=much",
  ])
    expect(typeFor(accept)).toBe("text/plain")
})

test("OpenMetrics: families without _total, floats as bounds, quotes escaped in help, EOF", async () => {
  const registry = new MetricRegistry()
  registry.tallies("c_total", 'a "help"\n', ["a"]).at('le="1",').add(2)
  registry.distribution("h", "h", ["a"], [0.5, 1]).at("b").add(1)
  registry.reading({ name: "g", help: "h" }, () => [[[], Number.NaN]])
  expect(await textOf(registry, "application/openmetrics-text")).toBe(`# TYPE c counter
# HELP c a \\"help\\"\\n
c_total{a="le=\\"1\\","} 2
# TYPE h histogram
# HELP h h
h_bucket{le="0.5",a="b"} 0
h_bucket{le="1.0",a="b"} 1
h_bucket{le="+Inf",a="b"} 1
h_sum{a="b"} 1
h_count{a="b"} 1
# TYPE g gauge
# HELP g h
g NaN
# EOF
`)
})
