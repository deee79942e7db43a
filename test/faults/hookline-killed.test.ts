import { test } from "bun:test"
import { fault, KILLS, onLog, restarted } from "../support/fault.ts"

test(`Hookline on an embedded log killed ${KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
  await fault(`Hookline on its log killed ${KILLS} times`, onLog(), restarted(KILLS))
})
