import { ERROR } from "../protocol/error-codes.ts"
import { FindCoordinator } from "../protocol/messages.ts"
import { served } from "./context.ts"

export const findCoordinator = served(FindCoordinator, ({ coordinatorKeys }) => {
  const errorCode = ERROR.COORDINATOR_NOT_AVAILABLE
  return {
    errorCode,
    nodeId: -1,
    coordinators: coordinatorKeys.map((key) => ({ key, nodeId: -1, errorCode })),
  }
})
