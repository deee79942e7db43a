import { KafkaSimulation } from "./kafka/kafka-simulation.ts"
import { type KafkaScenario, scenarioOf } from "./kafka/scenario.ts"
import { callByCall } from "./storage/call-by-call.ts"
import { dedupe } from "./storage/deduplicator.ts"
import { embeddedLog } from "./storage/embedded-log.ts"
import { forward } from "./storage/forward.ts"
import { reconcile } from "./storage/reconcile.ts"
import { service } from "./storage/service.ts"
import { spool } from "./storage/spool.ts"
import type { Scenario, Simulation } from "./simulation.ts"

const kafka: Simulation<KafkaScenario> = {
  name: "kafka",
  scenarioOf,
  run: (scenario) => new KafkaSimulation(scenario).run(),
}

/** To be imported when the globals are simulated and sources are changed: it imports what is simulated. */
export const SIMULATIONS: ReadonlyMap<string, Simulation> = new Map(
  (
    [
      kafka,
      embeddedLog,
      spool,
      dedupe,
      service,
      reconcile,
      forward,
      ...[embeddedLog, spool, dedupe].map(callByCall),
    ] as unknown as Simulation<Scenario>[]
  ).map((one) => [one.name, one]),
)
