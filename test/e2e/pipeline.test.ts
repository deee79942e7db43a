import { describe } from "bun:test"
import { behavesAsAPipeline, readBack } from "../support/behaves-as-a-pipeline.ts"

describe("a pipeline to the embedded log", () => {
  behavesAsAPipeline(() => ({
    connection: "directory = log",
    topic: "webhooks",
    read: readBack,
  }))
})
