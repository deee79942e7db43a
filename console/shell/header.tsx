import { useEffect } from "preact/hooks"
import { mayAct } from "../api-client.ts"
import { State } from "../components/values.tsx"
import { formatDateTime } from "../format.ts"
import { isMac } from "../keyboard.ts"
import { overview } from "../live.ts"
import { hrefOf } from "../router.ts"
import { serviceState } from "../service-state.ts"
import { nextTheme, theme } from "../theme.ts"
import { toast } from "../toasts.ts"
import { VIEWS, type View } from "../views/views.ts"

const findKeys = isMac ? "⌘K" : "Ctrl K"

interface HeaderProps {
  readonly view: View
  openPalette(): void
  openShortcuts(): void
}

export function Header({ view, openPalette, openShortcuts }: HeaderProps) {
  const hasBadges = VIEWS.some(({ badge }) => (badge?.() ?? 0) > 0)
  // where the tabs are wider than the window, which badges may make them
  useEffect(() => {
    document.querySelector(".tab[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" })
  }, [view, hasBadges])
  return (
    <header class="header">
      <div class="header-line">
        <a class="brand" href={hrefOf("overview")}>
          <Mark />
          Hookline
        </a>
        <ServiceStateLine />
      </div>
      <div class="header-line">
        <nav class="tabs" aria-label="Views">
          {VIEWS.map(({ id, title, badge }) => {
            const count = badge?.() ?? 0
            return (
              <a key={id} class="tab" href={hrefOf(id)} aria-current={id === view.id ? "page" : undefined}>
                {title}
                {count > 0 && <span class="badge">{count}</span>}
              </a>
            )
          })}
        </nav>
        <div class="tools">
          <button
            type="button"
            class="quiet find"
            aria-label={`Find ${findKeys}`}
            aria-keyshortcuts="Meta+K Control+K"
            onClick={openPalette}
          >
            <span class="find-word">Find</span> <kbd>{findKeys}</kbd>
          </button>
          <button
            type="button"
            class="quiet icon open-shortcuts"
            aria-label="Keyboard shortcuts"
            onClick={openShortcuts}
          >
            ?
          </button>
          <button
            type="button"
            class="quiet icon"
            aria-label={`Theme: ${theme.value}`}
            title={`Theme: ${theme.value}`}
            onClick={() => toast(`Theme: ${nextTheme()}`)}
          >
            {{ system: "◐", light: "☀", dark: "☾" }[theme.value]}
          </button>
        </div>
      </div>
    </header>
  )
}

function ServiceStateLine() {
  const it = overview.value
  const state = serviceState.value
  if (it === undefined) return <div class="service" aria-hidden="true" />
  return (
    <div class="service">
      {state && <State level={state.level}>{state.text}</State>}
      {!mayAct.value && (
        <span
          class="service-token"
          title="Signed in with read_token of [admin]: to send or change anything, sign in with token"
        >
          read-only
        </span>
      )}
      <span class="service-about" title={state?.cause}>
        {state?.cause ??
          it.connections.flatMap(({ id, replica }) => (replica === undefined ? [id] : [])).join(", ")}
      </span>
      <span
        class="service-version"
        title={`Configuration loaded ${formatDateTime(it.configuration_loaded_at)}`}
      >
        {it.version}
      </span>
    </div>
  )
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M5 3v10M11 3v6.5a3 3 0 0 1-6 0" />
    </svg>
  )
}
