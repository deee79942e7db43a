import { expect, test } from "bun:test"
import type { CaptureDetail, PipelineOverview } from "../../api.ts"
import { adviceOn } from "./advice.ts"

const capture = (reason: string, contentType = "application/json"): CaptureDetail =>
  ({
    summary: { outcome: "rejected", reason, pipeline: "inbox" },
    headers: [{ name: "content-type", value: contentType }],
  }) as unknown as CaptureDetail

const listeningAt = (url: string): PipelineOverview => ({ url }) as PipelineOverview

test.each([
  ["invalid_json", "application/x-www-form-urlencoded", "[pipeline:inbox:Decoder]\nformat = auto"],
  ["invalid_json", "Multipart/Form-Data; boundary=x", "[pipeline:inbox:Decoder]\nformat = auto"],
  ["not_an_object", "application/json", "[pipeline:inbox:Decoder]\nlists = split"],
  ["body_too_large", "application/json", "[pipeline:inbox:WebHookSource]\nmax_body_bytes = 4MiB"],
])("%s of %s is mended by lines of the configuration", (reason, contentType, lines) => {
  expect(adviceOn(capture(reason, contentType), [])?.configuration).toBe(lines)
})

test("where no pipeline has the path, those that have one are named", () => {
  const pipelines = ["a", "b", "c", "d", "e", "f", "g"].map((it) => listeningAt(`http://h:1/${it}`))
  expect(adviceOn(capture("unknown_path"), [...pipelines, listeningAt("")])?.text).toBe(
    "Pipelines listen at /a, /b, /c, /d, /e and 2 more.",
  )
})

test("a signature's failure is explained by its steps", () => {
  expect(adviceOn(capture("unverified_no_match"), [])).toBeUndefined()
})
