import { useEffect, useState } from "preact/hooks"
import { get } from "../api-client.ts"
import type { TopicOverview } from "../api.ts"
import { Dialog } from "../components/dialog.tsx"
import { Keys } from "../components/values.tsx"
import { shortcutGroups } from "../keyboard.ts"
import { overview } from "../live.ts"
import { hrefOf, navigate } from "../router.ts"
import { nextTheme } from "../theme.ts"
import { toast } from "../toasts.ts"

const MAX_SHOWN = 50
/** Keys that move in a list, and the palette's own: they are no commands. */
const KEYS_ONLY = ["j", "k", "Enter", "Escape", "mod+k"]

/** ⌘K: finds pipelines, topics and commands as they are typed. */
export function CommandPalette({ close }: { close: () => void }) {
  const [typed, type] = useState("")
  const [at, setAt] = useState(0)
  const topics = useTopics()
  const found = findCommands(
    [...shortcuts(), CHANGE_THEME, ...pipelines(), ...topics.map(topicCommand)],
    typed,
  ).slice(0, MAX_SHOWN)
  const chosen = Math.min(at, found.length - 1)
  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    close()
    command.run()
  }
  const move = (by: number): void => setAt((chosen + by + found.length) % Math.max(found.length, 1))
  const onKeyDown = (event: KeyboardEvent): void => {
    const action = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => run(found[chosen]) }[
      event.key
    ]
    if (action === undefined) return
    event.preventDefault()
    action()
  }
  useEffect(
    () => document.querySelector(`#command-${chosen}`)?.scrollIntoView({ block: "nearest" }),
    [chosen],
  )
  return (
    <Dialog label="Find" class="palette" close={close}>
      <input
        class="palette-input"
        role="combobox"
        aria-label="Find pipelines, topics and commands"
        aria-expanded={true}
        aria-controls="commands"
        aria-activedescendant={found.length > 0 ? `command-${chosen}` : undefined}
        placeholder="Find pipelines, topics and commands"
        value={typed}
        autofocus
        onInput={(event) => {
          type(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id="commands" class="palette-list" role="listbox" aria-label="Found">
        {found.map((command, n) => (
          <div
            key={`${command.kind} ${command.title}`}
            id={`command-${n}`}
            class="palette-item"
            role="option"
            aria-selected={n === chosen}
            onMouseMove={() => setAt(n)}
            onClick={() => run(command)}
          >
            <span>{command.title}</span>
            {command.keys === undefined ? <small>{command.kind}</small> : <Keys keys={command.keys} />}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="palette-none">Nothing is called that.</p>}
    </Dialog>
  )
}

const shortcuts = (): readonly Command[] =>
  shortcutGroups.value
    .toReversed()
    .flatMap(({ title: kind, shortcuts }) =>
      shortcuts.map(({ keys, label: title, run }) => ({ kind, title, keys, run })),
    )
    .filter(({ keys = "" }) => !KEYS_ONLY.includes(keys))

const CHANGE_THEME = { kind: "Page", title: "Change the theme", run: () => toast(`Theme: ${nextTheme()}`) }

const pipelines = (): readonly Command[] =>
  (overview.value?.pipelines ?? []).map(({ id }) => ({
    kind: "Pipeline",
    title: id,
    run: () => navigate(hrefOf("overview", [id])),
  }))

const topicCommand = ({ connection, topic }: TopicOverview): Command => ({
  kind: `Topic of ${connection}`,
  title: topic,
  run: () => navigate(hrefOf("events", [connection, topic])),
})

/** Without them the palette still finds everything else. */
function useTopics(): readonly TopicOverview[] {
  const [topics, setTopics] = useState<readonly TopicOverview[]>([])
  useEffect(() => {
    const leaving = new AbortController()
    get<TopicOverview[]>("topics", {}, leaving.signal).then(setTopics, (error: Error) => {
      if (!leaving.signal.aborted) toast(`Topics can't be listed: ${error.message}`)
    })
    return () => leaving.abort()
  }, [])
  return topics
}

/** What ⌘K finds: a place or an action. */
interface Command {
  /** `Pipeline`, `Topic`, `Go to`, … */
  readonly kind: string
  readonly title: string
  readonly keys?: string | undefined
  run(): void
}

/** The commands in which all typed words occur, best first: beginnings of titles before middles. */
function findCommands(commands: readonly Command[], typed: string): readonly Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const found = commands.flatMap((command) => {
    const title = command.title.toLowerCase()
    const text = `${command.kind.toLowerCase()} ${title}`
    if (!words.every((word) => text.includes(word))) return []
    return [{ command, rank: words[0] !== undefined && title.startsWith(words[0]) ? 0 : 1 }]
  })
  return found.toSorted((a, b) => a.rank - b.rank).map(({ command }) => command)
}
