import { PipelineTrial } from "./pipeline.ts"
import { openEmbedded } from "../../../src/brokers/embedded/broker.ts"
import type { Simulation } from "../simulation.ts"
import { ModelBroker, RemoteLog } from "./remote-log.ts"
import { scenarioOf, type StorageScenario } from "./scenario.ts"
import { readLog } from "./stored-records.ts"

/** Keys are with the embedded log, in a file beside a remote log, or in memory. */
export const dedupe: Simulation<StorageScenario> = {
  name: "dedupe",
  scenarioOf: (seed) => scenarioOf("dedupe", seed),
  run: (scenario) =>
    new PipelineTrial(scenario, ({ world }) => {
      const { keys } = scenario.settings
      const remote = new RemoteLog(world)
      return {
        keys,
        open: (directory, log) =>
          keys === "file"
            ? new ModelBroker(remote, () => () => {})
            : openEmbedded({ directory }, { log, metrics: { batch() {} } }),
        stored: (folder) => (keys === "file" ? remote.records : readLog(folder)),
        remote: (state) => remote.set(state),
        heal: () => remote.set({ state: "up", lostAnswers: 0 }),
      }
    }).run(),
}
