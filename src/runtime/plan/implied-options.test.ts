import { describe, expect, test } from "bun:test"
import { atOnce } from "../../clock/slices.ts"
import { brokerSink } from "../../components/broker-sink.ts"
import { decoder } from "../../components/decoder.ts"
import { components } from "../../components/registry.ts"
import { validator } from "../../components/validator.ts"
import { verifier } from "../../components/verifier.ts"
import { webHookSource } from "../../components/webhook-source.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { memoryConnection } from "../connection-spec.ts"
import { Pipeline, type PipelineParts } from "../pipeline.ts"
import { makePlan, type Draft } from "./plan.ts"

/** The names of the processors, and the options of the Decoder; undefined: there is none. */
function planned(draft: Partial<Draft>) {
  const [{ processors } = { processors: [] }] = atOnce(
    makePlan({ registry: components, cwd: "/", ...draft }),
  ).pipelines
  const parts = processors.flatMap((it) => (typeof it === "function" ? [] : it))
  return {
    names: parts.map(({ component }) => component.title),
    options: parts.find(({ component }) => component.title === "Decoder")?.values,
  }
}

describe("in a file", () => {
  const inFile = (provider: string, section = "") => {
    const sections = [
      "[connection:log]\ndirectory = data",
      "[pipeline:p:WebHookSource]",
      provider === "" ? "" : `[pipeline:p:Verifier]\nprovider = ${provider}\nsecret = obviously-fake`,
      section,
      "[pipeline:p:BrokerSink]\ntopic = t",
    ]
    const bytes = new TextEncoder().encode(sections.join("\n"))
    const configuration = atOnce(readConfigurationFile(bytes, "p.conf", { env: {}, baseDir: "/" }))
    return planned({ configuration })
  }

  test("a preset with forms or lists has a Decoder with its options, between Verifier and Validator", () => {
    expect(inFile("mandrill")).toEqual({
      names: ["Verifier", "Decoder", "Validator", "Enricher"],
      options: {
        format: "form",
        unwrap: "mandrill_events",
        lists: "split",
        max_list_items: 1000,
        json_fields: undefined,
        charset: "utf-8",
      },
    })
  })

  test("no other pipeline has one without a section", () => {
    expect(inFile("shopify").names).toEqual(["Verifier", "Validator", "Enricher"])
    expect(inFile("").names).toEqual(["Validator", "Enricher"])
  })

  test("[defaults:Decoder] overrides the preset's keys, and adds no Decoder", () => {
    const defaults = "[defaults:Decoder]\nlists = wrap"
    expect(inFile("mandrill", defaults).options).toMatchObject({ format: "form", lists: "wrap" })
    expect(inFile("shopify", defaults).names).toEqual(["Verifier", "Validator", "Enricher"])
  })

  test("a section's keys override the preset's, one by one", () => {
    const { options } = inFile("mandrill", "[pipeline:p:Decoder]\nlists = wrap\nmax_list_items = 5")
    expect(options).toMatchObject({
      format: "form",
      unwrap: "mandrill_events",
      lists: "wrap",
      max_list_items: 5,
    })
  })

  test("without a preset a section has the defaults of its own", () => {
    for (const provider of ["", "shopify"])
      expect(inFile(provider, "[pipeline:p:Decoder]").options).toMatchObject({
        format: "auto",
        lists: "refuse",
      })
  })
})

describe("in code", () => {
  const secret = "obviously-fake"
  const inCode = (...processors: PipelineParts["processors"]) =>
    planned({
      connections: new Map([["log", memoryConnection()]]),
      pipelines: [
        new Pipeline("p", { source: webHookSource(), processors, sink: brokerSink({ topic: "t" }) }),
      ],
    })

  test("a decoder has the options of the preset before it, and those that it is given win", () => {
    expect(
      inCode(verifier({ provider: "twilio", secret }), decoder({ lists: "wrap" }), validator()),
    ).toMatchObject({
      names: ["Verifier", "Decoder", "Validator"],
      options: { format: "auto", lists: "wrap" },
    })
    expect(inCode(verifier({ provider: "mandrill", secret }), decoder()).options).toMatchObject({
      format: "form",
    })
  })

  test("processors are those that are composed", () => {
    expect(inCode(verifier({ provider: "twilio", secret }), validator()).names).toEqual([
      "Verifier",
      "Validator",
    ])
  })
})
