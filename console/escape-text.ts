import { options, type ComponentChild, type ComponentChildren } from "preact"

/**
 * C0 except tab and line feed, DEL, C1, bidirectional formatting and line separators, as the command line escapes them:
 * https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
 */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]|\r(?!\n)/g

/** Writes control characters as JSON does: text from outside can't reverse or hide the text beside it. */
const escapeText = (text: string): string =>
  text.replace(CONTROLS, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Escapes every text that is rendered, and tooltips. Fields of forms and what is copied keep their characters. */
export function escapeRenderedText(): void {
  const before = options.vnode
  options.vnode = (vnode) => {
    const props = vnode.props as { children?: ComponentChildren; title?: unknown }
    if (props.children !== undefined) props.children = escapeChildren(props.children)
    if (typeof props.title === "string") props.title = escapeText(props.title)
    before?.(vnode)
  }
}

function escapeChildren(children: ComponentChildren): ComponentChildren {
  if (typeof children === "string") return escapeText(children)
  if (!Array.isArray(children)) return children
  return children.map((child) => escapeChildren(child as ComponentChildren)) as ComponentChild[]
}
