import { effect, signal } from "@preact/signals"

export type Theme = "system" | "light" | "dark"

const KEY = "hookline.theme"
const THEMES: readonly Theme[] = ["system", "light", "dark"]

export const theme = signal<Theme>(THEMES.find((it) => it === localStorage.getItem(KEY)) ?? "system")

/** system, light, dark, system … */
export function nextTheme(): Theme {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!
  return theme.value
}

/** Keeps the document in the chosen theme; curves on canvas read `isDark`. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value
    localStorage.setItem(KEY, theme.value)
  })
}

const system = matchMedia("(prefers-color-scheme: dark)")
const systemIsDark = signal(system.matches)
system.addEventListener("change", ({ matches }) => {
  systemIsDark.value = matches
})

export const isDark = (): boolean => (theme.value === "system" ? systemIsDark.value : theme.value === "dark")
