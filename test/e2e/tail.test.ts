import { describe } from "bun:test"
import { canBeRead } from "../support/can-be-read.ts"

describe("a topic of the embedded log", () => {
  canBeRead(() => ({ connection: "directory = log", topic: "webhooks" }))
})
