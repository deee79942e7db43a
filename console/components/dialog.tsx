import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"

interface DialogProps {
  readonly label: string
  readonly class?: string
  close(): void
  readonly children: ComponentChildren
}

/** A modal dialog: the browser keeps the focus in it, Escape and a press outside it close it, and the focus goes back. */
export function Dialog({ label, class: name = "", close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  // before the next key comes, which is for the dialog
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      class={`dialog ${name}`}
      aria-label={label}
      onClose={close}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
    >
      <div class="dialog-body">{children}</div>
    </dialog>
  )
}
