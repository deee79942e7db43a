import { describe, expect, test } from "bun:test"
import { ID_A, NO_ID, placeOf, PRODUCER, started, TopicFixture } from "../../../test/support/kafka-topic.ts"

const [NONE, UNKNOWN_TOPIC, UNAUTHORIZED] = [0, 3, 29]
const ID_B = "bbbbbbbb-0000-0000-0000-000000000000"

describe("the sequence of a partition", () => {
  test("begins at 0 under a higher epoch when the topic was created again, whatever its partitions", () => {
    const fixture = started(4)
    fixture.settle(fixture.send(3, 2).batch, NONE, 0)
    fixture.metadata(ID_B, 2)
    expect(fixture.topic.partitions).toHaveLength(2)
    fixture.metadata(ID_B, 4)
    expect(placeOf(fixture.send(3).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test("begins at 0 under a higher epoch, at whatever offset, when the broker did not have the partition for a moment", async () => {
    const fixture = started()
    fixture.settle(fixture.send(0, 5).batch, NONE, 100)
    const { batch, answers } = fixture.send(0)
    fixture.settle(batch, UNKNOWN_TOPIC)
    fixture.settle(batch, NONE, 0)
    expect(await answers[0]).toEqual({ partition: 0, offset: 0 })
    expect(placeOf(fixture.send(0).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
    expect(fixture.errors).toEqual([])
  })

  test("begins at 0 only after what was in flight when the topic was created again", () => {
    const fixture = started()
    const { batch } = fixture.send(0, 3)
    fixture.metadata(ID_B, 4)
    fixture.settle(batch, NONE, 10)
    expect(placeOf(fixture.send(0).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test("an id that the topic had before is stale unless nothing else is heard for 5 s", () => {
    const fixture = started(2)
    fixture.settle(fixture.send(0).batch, NONE, 0)
    fixture.metadata(ID_B, 4)
    fixture.metadata(ID_A, 2)
    expect(fixture.topic.partitions).toHaveLength(4)
    fixture.nowMs += 4000
    fixture.metadata(ID_B, 4)
    fixture.nowMs += 4000
    fixture.metadata(ID_A, 2)
    expect(fixture.topic.partitions).toHaveLength(4)
    fixture.nowMs += 5000
    fixture.metadata(ID_A, 2)
    expect(fixture.topic.partitions).toHaveLength(2)
    expect(placeOf(fixture.send(0).batch).epoch).toBe(1)
  })

  test("without topic ids, fewer partitions are stale unless nothing else is heard for 5 s", () => {
    const fixture = new TopicFixture()
    fixture.metadata(NO_ID, 4)
    fixture.settle(fixture.send(3).batch, NONE, 0)
    fixture.metadata(NO_ID, 2)
    expect(fixture.topic.partitions).toHaveLength(4)
    fixture.nowMs += 5000
    fixture.metadata(NO_ID, 2)
    expect(fixture.topic.partitions).toHaveLength(2)
    fixture.metadata(NO_ID, 4)
    expect(placeOf(fixture.send(3).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })
})

test("a leader of an older epoch does not follow a newer one, unless nothing else is heard for 5 s", () => {
  const fixture = new TopicFixture()
  fixture.metadata(ID_A, [5], 1)
  fixture.metadata(ID_A, [6], 2)
  fixture.metadata(ID_A, [5], 1)
  expect(fixture.partition(0).leader).toBe(2)
  fixture.nowMs += 5000
  fixture.metadata(ID_A, [5], 1)
  expect(fixture.partition(0).leader).toBe(1)
})

describe("a topic that does not exist is created", () => {
  test("once, when the cluster does not allow it, and is missing then", () => {
    const fixture = new TopicFixture()
    fixture.absent()
    fixture.topic.created({ problem: "auto.create.topics.enable is false", isFinal: true }, fixture.nowMs)
    for (let n = 0; n < 100; n++) {
      fixture.nowMs += 1000
      fixture.absent()
    }
    expect(fixture.creations).toHaveLength(1)
    expect(fixture.topic.problem()?.message).toContain("auto.create.topics.enable is false")
  })

  test("again and again, with longer and longer pauses, while that fails for a passing reason", () => {
    const fixture = new TopicFixture()
    for (let n = 0; n < 1200; n++) {
      const before = fixture.creations.length
      fixture.absent()
      if (fixture.creations.length > before)
        fixture.topic.created({ problem: "no controller", isFinal: false }, fixture.nowMs)
      fixture.nowMs += 50
    }
    const pauses = fixture.creations.slice(1).map((ms, at) => ms - fixture.creations[at]!)
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000])
    expect(fixture.topic.state).toBe("missing")
  })

  test("never when it existed before", () => {
    const fixture = started()
    fixture.absent()
    fixture.nowMs += 1000
    fixture.absent()
    expect(fixture.creations).toEqual([])
    expect(fixture.topic.problem()?.message).toContain("was deleted")
  })
})

test.each([
  [
    "that does not exist",
    false,
    UNKNOWN_TOPIC,
    "rejecting events of this topic: topic t was deleted; create it again",
  ],
  [
    "that does not exist",
    true,
    UNKNOWN_TOPIC,
    "events of this topic are spooled: topic t was deleted; create it again",
  ],
  [
    "that this client may not write to",
    true,
    UNAUTHORIZED,
    "rejecting events of this topic: topic t: this client is not authorized to write to it",
  ],
])("of a topic %s the log says what becomes of its events (spool: %p)", (_, spools, errorCode, line) => {
  const fixture = new TopicFixture(spools)
  fixture.metadata(ID_A, 1)
  fixture.absent(errorCode)
  fixture.nowMs += 1000
  fixture.absent(errorCode)
  const isError = line.startsWith("rejecting")
  expect([fixture.errors.map(({ msg }) => msg), fixture.warnings]).toEqual(
    isError ? [[line], []] : [[], [line]],
  )
})
