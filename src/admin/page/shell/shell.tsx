import { useEffect, useRef, useState } from "preact/hooks"
import { ErrorBoundary } from "../components/error-boundary.tsx"
import { Toasts } from "../components/toasts.tsx"
import { useShortcuts } from "../keyboard.ts"
import { hrefOf, navigate, route } from "../router.ts"
import { isSignedOut, sessions } from "../store/session.ts"
import { viewOf, VIEWS } from "../views/views.ts"
import { CommandPalette } from "./command-palette.tsx"
import { ConnectionBar } from "./connection-bar.tsx"
import { Header } from "./header.tsx"
import { ShortcutSheet } from "./shortcut-sheet.tsx"
import { SignIn } from "./sign-in.tsx"

/** The frame around the views: header, tabs, what opens over them, and the keys that work everywhere. */
export function Shell() {
  const [opened, open] = useState<"palette" | "shortcuts" | undefined>()
  const main = useRef<HTMLElement>(null)
  const view = viewOf(route.value.view)
  useShortcuts("Everywhere", [
    ...VIEWS.map(({ id, title, goKey }) => ({
      keys: `g ${goKey}`,
      label: `Go to ${title}`,
      run: () => navigate(hrefOf(id)),
    })),
    { keys: "mod+k", label: "Find pipelines, topics and commands", run: () => open("palette") },
    { keys: "?", label: "Show these shortcuts", run: () => open("shortcuts") },
  ])
  useEffect(() => {
    document.title = `${view.title} · Hookline`
  }, [view])
  /** The close event of a dialog may come after another one was opened. */
  const closeOf = (closed: typeof opened) => (): void => open((it) => (it === closed ? undefined : it))
  return (
    <>
      <a
        class="skip-link"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to content
      </a>
      <Header view={view} openPalette={() => open("palette")} openShortcuts={() => open("shortcuts")} />
      <ConnectionBar />
      <main ref={main} tabIndex={-1} class={`view view-${view.id}`}>
        <h1 class="off-screen">{view.title}</h1>
        {isSignedOut.value ? (
          <SignIn />
        ) : (
          <ErrorBoundary key={`${view.id} ${sessions.value}`}>
            <view.Component />
          </ErrorBoundary>
        )}
      </main>
      {opened === "palette" && (
        <CommandPalette close={closeOf("palette")} openShortcuts={() => open("shortcuts")} />
      )}
      {opened === "shortcuts" && <ShortcutSheet close={closeOf("shortcuts")} />}
      <Toasts />
    </>
  )
}
