/*
 * The box of "Why your webhook fails": explains a pasted request by `hookline/verify/explain`, in the browser. Nothing is sent
 * anywhere.
 */
import { parsePasted, senderOfHeaders } from "../../src/admin/api/pasted-request.ts"
import { explain, type ExplainOptions, type Report } from "../../src/verify/anywhere/explain.ts"

const element = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E

const form = element<HTMLFormElement>("why")
const field = (name: string): string => (form.elements.namedItem(name) as HTMLTextAreaElement).value.trim()

const make = (name: string, text: string, ...children: readonly HTMLElement[]): HTMLElement => {
  const made = document.createElement(name)
  made.textContent = text
  made.append(...children)
  return made
}

/** `header = X-Signature`, a line each, as options in code. */
function optionsOf(lines: string): { [name: string]: string } {
  const entries = lines.split("\n").flatMap((line): [string, string][] => {
    const [, key, value] = /^\s*(\w+)\s*[=:]\s*(.*?)\s*$/.exec(line) ?? []
    if (key === undefined) return []
    return [[key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()), value!]]
  })
  return Object.fromEntries(entries)
}

async function explained(): Promise<Report> {
  // a field's line ends are those that were pasted, apart from \r, which browsers take out
  const pasted = (form.elements.namedItem("request") as HTMLTextAreaElement).value
  const { method, url = "/", headers, body } = parsePasted(new TextEncoder().encode(pasted), undefined)
  const provider = field("provider") || senderOfHeaders(headers)
  const secrets = field("secret")
    .split("\n")
    .filter((it) => it !== "")
  const options: ExplainOptions = {
    ...optionsOf(field("settings")),
    provider,
    ...(secrets.length > 0 && { secret: secrets }),
    ...(field("url") !== "" && { url: field("url") }),
  }
  return explain({ method, url: absolute(url, headers), headers, body }, options)
}

const absolute = (url: string, headers: Headers): string =>
  new URL(url, `https://${headers.get("host") ?? "localhost"}`).href

function shown(report: Report): HTMLElement[] {
  const { mistakes, steps, configuration, sender, note, warnings } = report
  const lines = (text: string | null): HTMLElement[] => (text === null ? [] : [make("p", text)])
  return [
    make("p", "", make("strong", report.result)),
    ...mistakes.map(({ problem, remedy, is_certain }) =>
      make("p", `${is_certain ? "" : "Possibly: "}${problem} ${remedy}`),
    ),
    ...(configuration === null ? [] : [make("pre", configuration)]),
    ...warnings.map((it) => make("p", `Doubtful: ${it}`)),
    ...lines(note),
    ...lines(sender),
    ...steps.flatMap(({ name, state, lines }) => [
      make("h3", `${name}: ${state}`),
      make("pre", lines.join("\n")),
    ]),
  ]
}

const answer = element("answer")
form.addEventListener("submit", (event) => {
  event.preventDefault()
  explained().then(
    (report) => answer.replaceChildren(...shown(report)),
    (error: unknown) => answer.replaceChildren(make("p", (error as Error).message)),
  )
})
