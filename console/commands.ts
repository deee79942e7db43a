/** What ⌘K finds: a place or an action. */
export interface Command {
  /** `Pipeline`, `Topic`, `Go to`, … */
  readonly kind: string
  readonly title: string
  readonly keys?: string | undefined
  run(): void
}

/** The commands in which all typed words occur, best first: beginnings of titles before middles. */
export function findCommands(commands: readonly Command[], typed: string): readonly Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const found = commands.flatMap((command) => {
    const title = command.title.toLowerCase()
    const text = `${command.kind.toLowerCase()} ${title}`
    if (!words.every((word) => text.includes(word))) return []
    return [{ command, rank: words[0] !== undefined && title.startsWith(words[0]) ? 0 : 1 }]
  })
  return found.toSorted((a, b) => a.rank - b.rank).map(({ command }) => command)
}
