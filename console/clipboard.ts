import { toast } from "./toasts.ts"

/** Puts a text into the clipboard and says so. */
export async function copy(text: string, what = ""): Promise<void> {
  try {
    if (isSecureContext) await navigator.clipboard.writeText(text)
    else copyBySelection(text)
    toast(what === "" ? "Copied" : `Copied: ${what}`)
  } catch (error) {
    toast(`The browser did not copy: ${(error as Error).message}`)
  }
}

/** Over plain HTTP, off loopback, browsers have no `navigator.clipboard`. */
function copyBySelection(text: string): void {
  const field = document.createElement("textarea")
  field.value = text
  field.className = "off-screen"
  document.body.append(field)
  const focused = document.activeElement
  field.select()
  const done = document.execCommand("copy")
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  if (!done) throw new Error("select the text and copy it by hand")
}
