/** What a process and those that it has started cost: how many they are, and the CPU time that they took. */
export interface Cost {
  readonly starts: number
  readonly cpuMs: number
}

/**
 * Counts from now on what this process starts, with Bun or `node:child_process`, which calls Bun.
 *
 * @returns the cost since. Of the processes started it has those that have ended, with the children that they waited for
 */
export function countCosts(): () => Cost {
  const before = process.cpuUsage()
  const { spawn, spawnSync } = Bun
  const started: { resourceUsage: () => Bun.ResourceUsage | undefined }[] = []
  const counted = <T extends (typeof started)[number]>(child: T): T => {
    started.push(child)
    return child
  }
  Bun.spawn = ((...args: Parameters<typeof spawn>) => counted(spawn(...args))) as typeof spawn
  Bun.spawnSync = ((...args: Parameters<typeof spawnSync>) => {
    const ended = spawnSync(...args)
    counted({ resourceUsage: () => ended.resourceUsage })
    return ended
  }) as typeof spawnSync
  return () => {
    const { user, system } = process.cpuUsage(before)
    const ofChildren = started.map((child) => Number(child.resourceUsage()?.cpuTime.total ?? 0))
    return {
      starts: started.length,
      cpuMs: ofChildren.reduce((all, each) => all + each, user + system) / 1000,
    }
  }
}
