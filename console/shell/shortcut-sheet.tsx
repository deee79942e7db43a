import { Dialog } from "../components/dialog.tsx"
import { Keys } from "../components/keys.tsx"
import { shortcutGroups } from "../keyboard.ts"

/** Every shortcut that works now. */
export function ShortcutSheet({ close }: { close: () => void }) {
  return (
    <Dialog label="Keyboard shortcuts" class="shortcut-sheet" close={close}>
      <h2>Keyboard shortcuts</h2>
      {shortcutGroups.value.toReversed().map(({ title, shortcuts }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {shortcuts.map(({ keys, label }) => (
              <div key={keys}>
                <dt>{label}</dt>
                <dd>
                  <Keys keys={keys} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}
