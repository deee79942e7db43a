import { signal } from "@preact/signals"

/** Whether the server wants a token: the sign-in form is shown. */
export const isSignedOut = signal(false)
/** Counts sign-ins: who was refused before asks again. */
export const sessions = signal(0)
