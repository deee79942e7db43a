import { descriptorLimit, openDescriptors } from "../../process/descriptors.ts"
import { Guesses } from "../../addresses/guesses.ts"
import { ListenerProgram } from "../../kafka-listener/program.ts"
import { KafkaLog } from "./kafka-log.ts"

/*
 * The listener's thread: serves Kafka clients from the log, with a reader of its own. The event loop's side is
 * kafka-listener.ts.
 */

declare const self: Worker

function isHalfOpen(): boolean {
  const limit = descriptorLimit()
  return limit !== undefined && openDescriptors() > limit / 2
}

void new ListenerProgram(self, {
  openLog: (directory) => new KafkaLog(directory),
  limitGuesses: () => new Guesses(),
  isHalfOpen,
})
