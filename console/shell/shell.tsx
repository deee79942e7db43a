import { Component, type ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { isSignedOut, sessions } from "../api-client.ts"
import { ErrorNote } from "../components/loading.tsx"
import { isInterrupted } from "../event-stream.ts"
import { useShortcuts } from "../keyboard.ts"
import { streamState } from "../live.ts"
import { hrefOf, navigate, route } from "../router.ts"
import { toasts } from "../toasts.ts"
import { viewOf, VIEWS } from "../views/views.ts"
import { CommandPalette } from "./command-palette.tsx"
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
    { keys: "?", label: "Show keyboard shortcuts", run: () => open("shortcuts") },
  ])
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
      {opened === "palette" && <CommandPalette close={closeOf("palette")} />}
      {opened === "shortcuts" && <ShortcutSheet close={closeOf("shortcuts")} />}
      <Toasts />
    </>
  )
}

/** Shows a fault of one view in its place; the rest of the page continues. */
class ErrorBoundary extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state = { error: undefined as unknown }

  static override getDerivedStateFromError = (error: unknown): { error: unknown } => ({ error })

  override componentDidCatch(error: unknown): void {
    console.error(error)
  }

  render() {
    if (this.state.error === undefined) return this.props.children
    return <ErrorNote error={this.state.error} retry={() => this.setState({ error: undefined })} />
  }
}

/** The polite live region that toasts come in. */
function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text }) => (
        <div key={id} class="toast">
          {text}
        </div>
      ))}
    </div>
  )
}

/** A restart of a second is not worth a word. */
const QUIET_MS = 1500

/** Says quietly that the service does not answer, and that the page continues by itself. It lies over the view: nothing moves. */
function ConnectionBar() {
  const isLost = isInterrupted(streamState.value)
  const [isShown, show] = useState(false)
  useEffect(() => {
    if (!isLost) return show(false)
    const timer = setTimeout(() => show(true), QUIET_MS)
    return () => clearTimeout(timer)
  }, [isLost])
  return (
    <div class="connection-bar" role="status" aria-live="polite" data-shown={isShown}>
      {isShown && "Hookline does not answer. Reconnecting; what came meanwhile follows."}
    </div>
  )
}
