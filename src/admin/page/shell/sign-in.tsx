import { useState } from "preact/hooks"
import { ApiError, post } from "../api-client.ts"
import { ErrorNote } from "../components/error-note.tsx"
import { isSignedOut, sessions } from "../store/session.ts"

/** Asks for the token of `[admin]`, and gives it to the server for a cookie; the page itself keeps nothing. */
export function SignIn() {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    setBusy(true)
    try {
      await post("session", { token: new FormData(form).get("token") })
      isSignedOut.value = false
      sessions.value++
    } catch (fault) {
      const isWrong = fault instanceof ApiError && fault.status === 401
      setError(
        isWrong
          ? new ApiError(401, "That is not the token", "It is the one of [admin] token or token_file.")
          : fault,
      )
    } finally {
      setBusy(false)
    }
  }
  return (
    <form class="sign-in" onSubmit={submit}>
      <h2>Sign in</h2>
      <label>
        Token of <code>[admin]</code>
        <input type="password" name="token" autocomplete="current-password" required autofocus />
      </label>
      {error !== undefined && <ErrorNote error={error} />}
      <button type="submit" class="primary" disabled={isBusy}>
        Sign in
      </button>
    </form>
  )
}
