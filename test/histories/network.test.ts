import { expect, test } from "bun:test"
import { join } from "node:path"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { inOwnNetwork } from "./network.ts"
import { skipsFor } from "../support/tools.ts"

const own = await inOwnNetwork()
if ("missing" in own) skipsFor(own.missing)

test.skipIf("missing" in own)(
  "what one machine sends another is dropped in one direction, and nothing else",
  async () => {
    const { command } = own as Exclude<typeof own, { missing: string }>
    const trial = join(import.meta.dir, "network-trial.ts")
    const { stdout, stderr } = await runToEnd(endingWithThisProcess(...command, process.execPath, trial))
    expect({ stderr, found: JSON.parse(stdout) }).toEqual({
      stderr: "",
      found: {
        open: { other: true, here: true },
        requests: { other: false, here: true },
        answers: { other: false, here: true },
        healed: { other: true, here: true },
      },
    })
  },
)
