/*
 * What is known of senders besides their schemes: profiles, deliveries, samples.
 */
export {
  describeDelivery,
  describeMore,
  inBytes,
  inTime,
  type SenderFacts,
} from "./presets/delivery-facts.ts"
export {
  EVENT_PARTS,
  eventHeaders,
  headerNameIn,
  idInBody,
  isForgeable,
  isSigned,
  placesOf,
  type EventLocations,
  type EventPart,
} from "./presets/event-locations.ts"
export { PRESETS, decodingOf, presetOf, type Preset } from "./presets/presets.ts"
export type { BodyForm } from "./presets/profiles.ts"
export { FACTS, factsOf } from "./presets/sender-facts.ts"
export { SAMPLE_SETTINGS, samplePipeline } from "./samples/sample-pipeline.ts"
export { SAMPLES, hasSample, samplePath, sampleRequest } from "./samples/samples.ts"
