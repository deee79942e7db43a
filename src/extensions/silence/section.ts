import { gaugesOf } from "../../telemetry/gauges.ts"
import { defineExtension } from "../define-extension.ts"
import { expectationsOf } from "./plan.ts"
import { SILENT } from "./problems.ts"
import type { Silences } from "./running.ts"

/** Notices pipelines to which no event has come for longer than `expect_every` of their sources. */
export const silence = defineExtension({
  name: "silence",
  plan: expectationsOf,
  problems: [SILENT],
  load: () => import("./running.ts"),
  gauges: gaugesOf("pipeline", (silences: Silences) => silences.all(), {
    pipeline_silent: [
      "1 while no event has come for longer than expect_every, else 0.",
      ({ ms, expectedMs }) => Number(ms >= expectedMs),
    ],
    pipeline_silence_seconds: [
      "Time since the last event of a pipeline with expect_every, or since it is watched.",
      ({ ms }) => ms / 1000,
    ],
  }),
})
