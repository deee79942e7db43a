import { skipSpace, startOfText } from "../../json/tokens.ts"
import { findTextFlaw } from "../../json/check.ts"
import { Items } from "../../json/walk.ts"
import type { Event } from "../../pipeline/event.ts"
import { refusedBody, type Ended } from "../../pipeline/outcome.ts"
import { unavailable } from "../../pipeline/service-unavailable.ts"

/**
 * What becomes of a body that begins with a bracket: wrapped into one object, or an event for each item. Both keep the
 * items' bytes. What is no valid JSON is left to the Validator.
 *
 * @param most items of a list that is split
 */
export function listStep(
  lists: "wrap" | "split",
  most: number,
): (event: Event) => Event | readonly Event[] | Ended {
  return (event) => {
    const start = startOfText(event.body)
    // also what closes the list early and continues: `[],"a":[]`
    if (findTextFlaw(event.body, start) !== undefined) return event
    if (lists === "split") return split(event, most)
    event.decode(Buffer.concat([BEFORE, event.body.subarray(start), AFTER]))
    return event
  }
}

const BEFORE = Buffer.from('{"items":')
const AFTER = Buffer.from("}")

/** Memory of an item in addition to its bytes: 1.2 KB of resident memory each were measured with lists of empty objects. */
const ITEM_BYTES = 1024

function split(event: Event, most: number): readonly Event[] | Ended {
  const { body } = event
  const items = new Items(body, skipSpace(body, startOfText(body)))
  const bodies: Uint8Array[] = []
  while (items.next()) {
    if (bodies.length === most)
      return refusedBody("too_many_items", `is a list of more than ${most} items`, 413)
    bodies.push(body.subarray(items.valueStart, items.valueEnd))
  }
  return event.reserve(bodies.length * ITEM_BYTES) ? event.split(bodies) : unavailable("in_flight_full")
}
