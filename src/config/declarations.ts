/*
 * Declaring options and sections, besides the forms of options in options/option-types.ts.
 */
export { ROUTER_KEYS } from "./file/route-lines.ts"
export type { OptionsArgument, OptionsInCode } from "./options/in-code.ts"
export { guard, uniform, type Declared, type ParseContext, type Parsed } from "./options/option.ts"
export { describeRelations, only } from "./options/relations.ts"
export { defineSection, type Checking, type Section } from "./options/section.ts"
export { endpoint, endpointOrOff } from "./sections/endpoint-options.ts"
export { TOPIC_PLACE, parseTopicPlace, type TopicPlace } from "./sections/topic-place.ts"
