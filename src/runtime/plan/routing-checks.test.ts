import { expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { components } from "../../components/registry.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { HooklineError } from "../../errors.ts"
import { makePlan, resolveDraft } from "./plan.ts"

const GITHUB = "[pipeline:p:Verifier]\nprovider = github\nsecret = example-not-a-secret\n"
const TOKEN = "[pipeline:p:Verifier]\nprovider = token\nheader = X-Token\nsecret = example-not-a-secret\n"
const HMAC = `[pipeline:p:Verifier]
provider = hmac
header = X-Signature
secret = example-not-a-secret
payload = {id}.{body}
id_header = X-Kind
`
const base = (id: string, more = ""): string =>
  `[pipeline:${id}:WebHookSource]\npath = /${id}\n[pipeline:${id}:BrokerSink]\ntopic = ${id}\n${more}\n`

function problemsOf(file: string): string[] {
  const bytes = new TextEncoder().encode(`[connection:log]\ndirectory = log\n${file}`)
  const configuration = atOnce(readConfigurationFile(bytes, "f.conf", { env: {}, baseDir: "/" }))
  try {
    atOnce(makePlan({ configuration, registry: components, cwd: "/" }))
    return []
  } catch (error) {
    if (!(error instanceof HooklineError) || error.code !== "config") throw error
    return error.message.split("\n").map((line) => line.replace(/^f\.conf:\d+: \[pipeline:p:/, ""))
  }
}

test.each<[what: string, section: string, problem: string | undefined]>([
  [
    "lines",
    "Router]\nby = json:/type\ninvoice.* = billing\na:b = c\nOrder Created = orders\n* = other",
    undefined,
  ],
  ["lines of the key", "Router]\nby = json:/type\nroutes =\n  a = b\n  by = c", undefined],
  ["indented lines", "Router]\n  by = json:/type\n  a = b\n  c = d", undefined],
  ["a template", "Router]\ntopic = e.{json:/type}\ntopics = e.*", undefined],
  [
    "a line that continues another key",
    "Router]\nby = json:/type\n  a = b\nc = d",
    'Router] by: "json:/type\\na = b" is not json:/pointer',
  ],
  [
    "keep that continues when",
    "Filter]\nwhen = json:/type\n  keep = a\ndrop = b",
    "(indented lines continue a value)",
  ],
  [
    "a secret of the Verifier",
    "Router]\nby = json:/type\na = b\nSecret = whsec_obviously.fake",
    'Router] routes: "Secret" is a pattern here; if the key of a Verifier is meant, move it to that section; for events with this value write "Secret*"',
  ],
  ["a value for such a pattern", "Router]\nby = json:/type\nsecret* = b", undefined],
  [
    "a secret of the Verifier that is no topic",
    "Router]\nby = json:/type\nsecret = whsec_obviously/fake+",
    'Router] routes: the target of "secret" is not a topic name',
  ],
  ["nothing", "Router]", "Router] by: is missing; add by = <value> and lines"],
  ["no lines", "Router]\nby = json:/type", "Router] routes: has no lines; add some"],
  ["no value", "Router]\na = b", "Router] by: is missing; add by = json:/type"],
  [
    "lines and a template",
    "Router]\nby = json:/t\na = b\ntopic = {json:/t}\ntopics = *",
    "Router] topic: conflicts with by",
  ],
  ["no topics", "Router]\ntopic = e.{json:/type}", "Router] topics: is missing; add the topics"],
  ["topics of lines", "Router]\nby = json:/t\na = b\ntopics = *", "Router] topics: has no effect on lines"],
  [
    "a name that is none",
    "Router]\nby = json:/t\na = b c",
    'Router] routes: the target of "a" is not a topic name',
  ],
  ["a line without =", "Router]\nby = json:/t\na b", 'Router] routes: "a b" is not a line'],
  [
    "a misspelled key",
    "Router]\nby = json:/t\na = b\nunsinged = true",
    '"unsinged" is a pattern; did you mean the key unsigned?',
  ],
  ["a pattern that is like a key", "Router]\nby = json:/action\nassigned = b\nbuy = c", undefined],
  ["a line twice", "Router]\nby = json:/t\na = b\na = c", '"a" has a line before'],
  ["a line after *", "Router]\nby = json:/t\n* = b\na = c", '"a" is behind *'],
  [
    "a value of an unknown provider",
    "Router]\nby = event:type\na = b",
    "Router] by: event:type needs a Verifier with a provider",
  ],
  ["Filter with neither", "Filter]\nwhen = json:/type", "Filter] keep: is missing"],
  ["Filter with both", "Filter]\nwhen = json:/t\nkeep = a\ndrop = b", "Filter] drop: conflicts with keep"],
  ["Filter by nothing", "Filter]\nkeep = a", "Filter] when: is missing"],
  [
    "Filter by an unknown provider's",
    "Filter]\nwhen = event:type\nkeep = a",
    "Filter] when: event:type needs a Verifier with a provider",
  ],
])("%s", (_, section, problem) => {
  const problems = problemsOf(base("p", `[pipeline:p:${section}`))
  if (problem === undefined) expect(problems).toEqual([])
  else expect(problems.join("\n")).toContain(problem)
})

test("a line with a key of another component that is no secret is warned of", () => {
  const file = base("p", "[pipeline:p:Router]\nby = json:/type\na = b\nprovider = github\n")
  const bytes = new TextEncoder().encode(`[connection:log]\ndirectory = log\n${file}`)
  const configuration = atOnce(readConfigurationFile(bytes, "f.conf", { env: {}, baseDir: "/" }))
  const { problems } = atOnce(resolveDraft({ configuration, registry: components, cwd: "/" }))
  expect(problems.lines).toEqual([])
  expect(problems.allWarnings.map(({ text }) => text)).toContain(
    '"provider" is a pattern here; if the key of a Verifier is meant, move it to that section',
  )
})

const byHeader = "[pipeline:p:Router]\nby = header:X-Kind\na = b"
const UNSIGNED =
  "Router] by: reads the header X-Kind, which github does not sign: a captured request could be sent again with another one, to another topic; choose by json:/pointer, or set unsigned = true to accept that"

test.each<[what: string, sections: string, problems: string[]]>([
  ["a header without a Verifier", byHeader, []],
  ["a header that the scheme does not sign", GITHUB + byHeader, [UNSIGNED]],
  [
    "in a template",
    `${GITHUB}[pipeline:p:Router]\ntopic = {header:X-Kind}\ntopics = *`,
    [UNSIGNED.replace("by:", "topic:")],
  ],
  ["with mode = observe", GITHUB + "mode = observe\n" + byHeader, [UNSIGNED]],
  ["a header next to a token", TOKEN + byHeader, [UNSIGNED.replace("github", "token")]],
  ["a header that is signed", HMAC + byHeader, []],
  ["unsigned = true", `${GITHUB + byHeader}\nunsigned = true`, []],
  ["the body", `${GITHUB}[pipeline:p:Router]\nby = json:/a\na = b`, []],
])("routing by %s", (_, sections, problems) => {
  expect(problemsOf(base("p", sections))).toEqual(problems)
})

test.each([
  ["a line's", "by = json:/t\na = letters", "routes"],
  ["that of a template", "topic = {json:/t}\ntopics = let*", "topics"],
])("dead letters do not go to a topic of events: %s", (_, router, key) => {
  const other = base("q", `[pipeline:q:Router]\n${router}`)
  const problems = problemsOf(`${base("p", `dead_letter_topic = letters\n${GITHUB}`)}${other}`)
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain(
    `BrokerSink] dead_letter_topic: is a topic that ${key} of pipeline "q" (f.conf:`,
  )
})

test.each([
  ["a line's", "", "[pipeline:q:Router]\nby = json:/t\na = letters"],
  ["the sink's", "topic = letters\n", ""],
])(
  "dead letters do not go to a topic of events where one sink names the only connection: %s",
  (_, sink, more) => {
    const other = base("q", more).replace("topic = q\n", sink === "" ? "topic = q\n" : sink)
    const named = base("p", `connection = log\ndead_letter_topic = letters\n${GITHUB}`)
    expect(problemsOf(named + other)).toEqual([
      expect.stringMatching(/^BrokerSink\] dead_letter_topic: is (?:a|the) topic .*pipeline "q"/),
    ])
  },
)

test("an unsigned header is reported in addition to problems elsewhere", () => {
  const problems = problemsOf(
    `${base("p", GITHUB + byHeader)}topik = x\n${base("q", "dead_letter_topic = l")}`,
  )
  expect(problems).toContain(UNSIGNED)
  expect(problems.length).toBeGreaterThan(1)
})
