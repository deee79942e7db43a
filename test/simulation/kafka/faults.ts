import type { World } from "../world.ts"
import type { Audit } from "./audit.ts"
import type { Cluster } from "./cluster.ts"
import type { Network } from "./network.ts"
import type { Step } from "./scenario.ts"
import type { Service } from "./service.ts"

interface Simulated {
  readonly world: World
  readonly cluster: Cluster
  readonly network: Network
  readonly audit: Audit
  service: Service
  start(): Service
  publish(step: Step & { do: "publish" }): void
}

/** Has a step of the scenario happen. */
export function carryOut(simulation: Simulated, step: Step): void {
  const { world, cluster, network, audit } = simulation
  if (step.do === "publish") {
    for (let at = 0; at < step.count; at++) world.after(at * step.everyMs, () => simulation.publish(step))
    return
  }
  const { atMs: _, ...what } = step
  world.tell("fault", JSON.stringify(what))
  const broker = "broker" in step ? cluster.brokers.get(step.broker)! : undefined
  const links = broker === undefined ? undefined : network.links.get(`${broker.host}:${broker.port}`)!
  const affected =
    links === undefined || !("direction" in step)
      ? []
      : step.direction === "both"
        ? [links.toServer, links.toClient]
        : [links[step.direction]]
  const later = (undo: () => void): void => void world.after("forMs" in step ? step.forMs : 0, undo)
  switch (step.do) {
    case "restart": {
      const before = simulation.service
      if (step.isKilled) before.process.kill()
      else before.close()
      simulation.service = simulation.start()
      return
    }
    case "delete":
      cluster.controller.delete(step.topic)
      world.after(step.againMs, () => {
        if (!cluster.controller.image.topics.has(step.topic))
          cluster.controller.create(step.topic, step.partitions)
      })
      return
    case "grow":
      return cluster.controller.grow(step.topic, step.partitions)
    case "move":
      return cluster.controller.moveLeader(step.topic, step.index, step.pick)
    case "crash":
      broker!.crash()
      return later(() => broker!.start())
    case "stall broker":
      return broker!.process?.stall(step.forMs)
    case "cut off":
      broker!.isCutOff = true
      return later(() => (broker!.isCutOff = false))
    case "lag":
      broker!.metadataDelayMs = step.forMs
      return later(() => (broker!.metadataDelayMs = 0))
    case "throttle":
      broker!.throttleMs = step.ms
      return later(() => (broker!.throttleMs = 0))
    case "late acknowledgements":
      for (const one of cluster.brokers.values()) one.late = step
      return
    case "slow peers":
      cluster.slowPeersMs = step.ms
      return later(() => (cluster.slowPeersMs = 0))
    case "slow":
      for (const link of affected) link.delayMs = step.ms
      return later(() => {
        for (const link of affected) link.delayMs = 0
      })
    case "silence":
      for (const link of affected) link.silentUntilMs = world.nowMs + step.forMs
      return
    case "cut":
      for (const socket of network.open)
        if (socket.server === `${broker!.host}:${broker!.port}`) socket.cut(step.isLost)
      return
    case "no answer":
      broker!.unanswered = step.count
      return
    case "errors": {
      let left = step.count
      if (step.api === "metadata") cluster.faultyMetadata = () => (left-- > 0 ? step.code : undefined)
      else
        cluster.faultyAnswer = () =>
          left-- > 0 ? { errorCode: step.code, isAppended: step.isAppended } : undefined
      return
    }
    case "stall":
      audit.stalled(simulation.service.process, step.forMs)
      return simulation.service.process.stall(step.forMs)
    case "set clock":
      simulation.service.process.clocks.offsetMs += step.byMs
  }
}
