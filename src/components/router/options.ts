import type { ROUTER_KEYS } from "../../config/declarations.ts"
import { integer, list, oneOf, text, type Option } from "../../config/options/option-types.ts"
import { EVENT_VALUE, valueOption } from "../extraction.ts"
import { pattern } from "../pattern.ts"
import { routeLines } from "./routes.ts"
import { isTemplate, TEMPLATE_FORM } from "./template.ts"

export const ROUTER_OPTIONS = {
  by: valueOption({
    ...EVENT_VALUE,
    optional: true,
    doc: "The value that the lines `pattern = topic` are compared with: a string, number or boolean of the body, a header's value, the path, a segment of it below a `/*`, a parameter of the query, or `event:type` where the provider's preset knows it (see providers.md).",
  }),
  routes: routeLines({
    optional: true,
    doc: "In the file, lines of the section: `invoice.* = billing`. The first whose pattern matches the value decides; `*` matches any text; several topics (`invoice.* = billing, audit`) get the event all, or the sender 503; the target `drop` drops the event, which is answered as an accepted one. An event that none matches goes to the sink's topic. The key itself is needed only for a pattern that is spelled like one of these keys.",
  }),
  topic: text({
    form: TEMPLATE_FORM,
    accepts: isTemplate,
    optional: true,
    doc: "Instead of lines: the topic's name, with values of the event. An event that lacks one, or gets a name that Kafka forbids or `topics` does not allow, goes to the sink's topic, counted and logged.",
  }),
  topics: list(pattern, {
    optional: true,
    doc: "The topics that the template may produce, as patterns. Kafka's own, whose names begin with `__`, are never among them.",
  }),
  max_topics: integer({
    min: 1,
    max: 10_000,
    default: "100",
    doc: "How many topics the template may produce; events for further ones go to the sink's topic, counted and logged. Topics cost memory here and at the broker. Each replica counts its own.",
  }),
  unsigned: oneOf(["false", "true"], {
    default: "false",
    doc: "Whether to route by a header, a path or a query that the Verifier's scheme does not sign: anyone who captures a request can then send it again, to another topic.",
  }),
  // oxlint-disable-next-line no-explicit-any
} as const satisfies { readonly [key in (typeof ROUTER_KEYS)[number]]: Option<any, any> }
