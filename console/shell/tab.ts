import { effect } from "@preact/signals"
import { route } from "../router.ts"
import { serviceState, type ServiceState } from "../service-state.ts"
import { viewOf } from "../views/views.ts"
import svg from "../icon.svg" with { type: "text" }

/** A mark in the title and a dot on the icon, seen when the page is one of many tabs; a good state has neither. */
const MARKS: { readonly [level in ServiceState["level"]]?: { readonly sign: string; readonly dot: string } } =
  {
    warning: { sign: "▲", dot: "<circle cx='12' cy='12' r='4' fill='#e5a100' stroke='#fff'/>" },
    error: { sign: "✕", dot: "<circle cx='12' cy='12' r='4' fill='#d92d20' stroke='#fff'/>" },
    silent: { sign: "◌", dot: "<circle cx='12' cy='12' r='3.5' fill='#fff' stroke='#58616e'/>" },
  }

/** Keeps the browser tab's title and icon up to date with the view and the service's state. */
export function showInTab(): void {
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]")!
  const plain = icon.href
  effect(() => {
    const { title } = viewOf(route.value.view)
    const state = serviceState.value
    const mark = state && MARKS[state.level]
    document.title = `${mark === undefined ? "" : `${mark.sign} ${state!.text} · `}${title} · Hookline`
    icon.href =
      mark === undefined
        ? plain
        : `data:image/svg+xml,${encodeURIComponent(svg.replace("</svg>", `${mark.dot}</svg>`))}`
  })
}
