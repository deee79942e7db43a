import { Dialog } from "../components/dialog.tsx"
import { Keys } from "../components/values.tsx"
import { shortcutGroups, type Shortcut } from "../keyboard.ts"

/** Every shortcut that works now. */
export function ShortcutSheet({ close }: { close: () => void }) {
  const groups = shortcutGroups.value.filter(({ shortcuts }) => shortcuts.some(hasKeys))
  return (
    <Dialog label="Keyboard shortcuts" class="shortcut-sheet" close={close}>
      <h2>Keyboard shortcuts</h2>
      {groups.toReversed().map(({ title, shortcuts }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {shortcuts.filter(hasKeys).map(({ keys, label }) => (
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

const hasKeys = (it: Shortcut): it is Shortcut & { readonly keys: string } => it.keys !== undefined
