import { expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { components } from "../../components/registry.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { dedupeFileIn } from "../../dedupe/key-database.ts"
import { resolveDraft } from "./plan.ts"

const REPLICAS = "replicas = dns:hookline:9464\nreplicas_token = obviously-fake-replicas-token"
const SIGNED_ID = "[pipeline:p:Verifier]\nprovider = mailgun\nsecret = 00112233445566778899aabbccddeeff\n"
const GITHUB = "[pipeline:p:Verifier]\nprovider = github\nsecret = example-not-a-secret-0\n"
const DEDUPE = "[pipeline:p:Deduplicator]\nkey = json:/id\n"
const REDIS = "store = redis://127.0.0.1\n"

const SEVERAL = "and [admin] replicas names several"
const TWICE = `store: is one replica's, ${SEVERAL}: a delivery that is repeated to another one would be published twice; set store = redis://..., the same for all`

/** The problems and warnings of a pipeline to Kafka, of what replicas do not share. */
function foundIn(sections: string, admin = REPLICAS): { problems: string[]; warnings: string[] } {
  const file = `[connection:kafka]
bootstrap_servers = kafka:9092
[pipeline:p:WebHookSource]
path = /p
${sections}
[pipeline:p:BrokerSink]
topic = t
[admin]
${admin}
`
  const configuration = atOnce(
    readConfigurationFile(new TextEncoder().encode(file), "f.conf", { env: {}, baseDir: "/" }),
  )
  const { problems } = atOnce(resolveDraft({ configuration, registry: components, cwd: "/" }))
  const withoutLine = (line: string): string => line.replace(/^f\.conf:\d+: \[(.*?)\] /, "$1 ")
  return {
    problems: problems.lines.map(withoutLine),
    warnings: problems.warnings.filter((line) => /replica|kept in this process/.test(line)).map(withoutLine),
  }
}

const ALONE = "listen = off"
const isOfReplicas = (line: string): boolean => line.includes("replica")

test.each<[what: string, sections: string, problems: readonly string[]]>([
  ["no state", GITHUB, []],
  ["a Deduplicator's default store", DEDUPE, [`pipeline:p:Deduplicator ${TWICE}`]],
  ["its store in memory", `${DEDUPE}store = memory`, [`pipeline:p:Deduplicator ${TWICE}`]],
  ["its store in a folder", `${DEDUPE}store = keys`, [`pipeline:p:Deduplicator ${TWICE}`]],
  [
    "a default store of [defaults]",
    `[defaults:Deduplicator]\nstore = keys\n${DEDUPE}`,
    [`defaults:Deduplicator ${TWICE}`],
  ],
  ["a shared store", `${DEDUPE}${REDIS}`, []],
  ["a shared store behind Sentinels", `${DEDUPE}store = redis+sentinel://s1,s2,s3/mymaster`, []],
  [
    "signed ids without a store",
    SIGNED_ID,
    [
      `pipeline:p:Verifier provider: has ids that mailgun signs, which each replica remembers by itself, ${SEVERAL}: a captured request would be accepted once by each; add a Deduplicator with store = redis://...`,
    ],
  ],
  ["signed ids that are only counted", `${SIGNED_ID}mode = observe\n`, []],
  ["signed ids in a shared store", `${SIGNED_ID}${DEDUPE}${REDIS}`, []],
  ["signed ids in a file", `${SIGNED_ID}${DEDUPE}`, [`pipeline:p:Deduplicator ${TWICE}`]],
])("what would let an event pass once in each replica is refused: %s", (_, sections, problems) => {
  expect(foundIn(sections).problems).toEqual([...problems])
  // the same without replicas
  expect(foundIn(sections, ALONE).problems).toEqual([])
})

test.each<[what: string, sections: string, warnings: readonly string[]]>([
  [
    "a secret of the sender's first request",
    "[pipeline:p:Verifier]\nprovider = notion\nsecret_file = notion.secret\n",
    [
      `pipeline:p:Verifier secret_file: is written by the replica that gets the sender's first request, ${SEVERAL}: the others refuse its events; set secret = <what the file has then> for all, or a file that they share`,
    ],
  ],
  [
    "a rate limit",
    "rate_limit = 10\n",
    [
      `pipeline:p:WebHookSource rate_limit: is counted by each replica, ${SEVERAL}: together they accept as many times as much; set redis in [service]`,
    ],
  ],
  ["a rate limit that is counted in a Redis", "rate_limit = 10\n[service]\nredis = redis://127.0.0.1", []],
  [
    "the position of a forward, which Kafka has",
    "[forward:app]\nfrom = kafka/t\nurl = http://127.0.0.1:9/\n",
    [],
  ],
])("check warns of what replicas do not share: %s", (_, sections, warnings) => {
  expect(foundIn(sections).warnings).toEqual([...warnings])
  expect(foundIn(sections, ALONE).warnings.filter(isOfReplicas)).toEqual([])
})

test("a store that another process holds leads replicas to one that they share", () => {
  expect(dedupeFileIn("/f").alternative).toContain("replicas of one service share a store = redis://")
})
