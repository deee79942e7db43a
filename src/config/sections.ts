/*
 * The sections of the file that belong to no component, connection or extension.
 */
export { ADMIN, DETAIL_WORDS, captureOf, detailOf, tokenDoubts, type CaptureMode } from "./sections/admin.ts"
export { SERVICE, removedFromService } from "./sections/service.ts"
export { TRACES, splitPair } from "./sections/traces.ts"
