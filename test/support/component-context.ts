import { pino } from "pino"
import type { ComponentContext } from "../../src/components/define-component.ts"
import { HooklineError } from "../../src/errors.ts"
import { Metrics } from "../../src/telemetry/metrics.ts"

/** The context of a component that is made by itself; what is not given and can't be made up fails when it is asked for. */
export function componentContext(given: Partial<ComponentContext> = {}): ComponentContext {
  const none = (): never => {
    throw new HooklineError("internal", "this component is not expected to need a connection or a store")
  }
  return {
    pipeline: "test",
    sender: undefined,
    sourcePath: "/webhook",
    log: pino({ level: "silent" }),
    metrics: new Metrics().pipeline("test"),
    acquire: ({ open }) => open(),
    connection: none,
    prepareTopics() {},
    deliveryTimeoutMs: 5000,
    dedupeKeys: none,
    sharedDedupeKeys: () => undefined,
    hasLogFolder: false,
    sharedLimits: undefined,
    ...given,
  }
}
