import { count, replica, Type } from "../../../src/admin/api/shape.ts"
import { path, text } from "../../../src/config/options/option-types.ts"
import { defineSection } from "../../../src/config/options/section.ts"
import { defineExtension } from "../../../src/extensions/define-extension.ts"
import { gaugesOf } from "../../../src/telemetry/gauges.ts"
import type { PlannedTally, Tallies } from "./running.ts"

/*
 * The extension of the recipe in CONTRIBUTING.md, in a folder of its own: counts the events of a pipeline in a file.
 */

const TALLY = defineSection({
  title: "tally",
  aliases: [],
  summary: "Counts the events of a pipeline in a file.",
  options: {
    pipeline: text({ doc: "Id of the pipeline." }),
    directory: path({ optional: true, doc: "Folder of the file. Default: that of the log." }),
  },
})

const TallyOverview = Type.Object({
  id: Type.String(),
  pipeline: Type.String(),
  events: count,
  opened: Type.String({ description: "Differs once it was opened anew." }),
  replica,
})

export const tally = defineExtension({
  name: "tally",
  sections: {
    plural: "tallies",
    section: TALLY,
    pipeline: "pipeline",
    check() {},
    show: ({ id, pipeline }: PlannedTally) => ({
      line: `events of ${pipeline.id}`,
      json: { id, pipeline: pipeline.id },
    }),
    row: TallyOverview,
    shapes: { TallyOverview },
  },
  plan: ({ sections, pipelines }) =>
    sections.map(({ id, values }): PlannedTally => ({
      id,
      directory: values.directory,
      pipeline: pipelines.find((it) => it.id === values.pipeline)!,
    })),
  load: () => import("./running.ts"),
  gauges: gaugesOf("tally", (it: Tallies) => it.rows().map((row) => [row.id, row] as const), {
    tally_events: ["Events that the file has.", ({ events }) => events],
  }),
  files: [{ kind: "tally", pattern: /^tally-[^/]+\.txt$/ }],
})
