import { expect, test } from "bun:test"
import { join } from "node:path"
import { runToEnd } from "../support/child.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { compileClock, openClock } from "./clock.ts"
import { hasTools } from "../support/tools.ts"

test.skipIf(!hasTools("cc"))(
  "a process has the time of day that is set, its monotonic clock as it is",
  async () => {
    using folder = temporaryFolder()
    const clock = openClock(compileClock(folder.path), join(folder.path, "clock"))
    for (const offsetS of [0, -1500, 1500]) {
      clock.set(offsetS)
      const script = "console.log(Date.now()); await Bun.sleep(100); console.log(performance.now())"
      const env = { ...process.env, ...clock.env }
      const { stdout } = await runToEnd([process.execPath, "-e", script], { env })
      const [date, monotonic] = stdout.split("\n").map(Number)
      expect(Math.abs(date! - Date.now() - offsetS * 1000)).toBeLessThan(60_000)
      expect(monotonic).toBeGreaterThan(99)
      expect(monotonic).toBeLessThan(60_000)
    }
  },
)
