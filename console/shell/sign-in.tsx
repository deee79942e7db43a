import { RequestFailure, post, isSignedOut, sessions } from "../api-client.ts"
import { ErrorNote } from "../components/loading.tsx"
import { useAction } from "../request-hooks.ts"

/** Asks for the token of `[admin]`, and gives it to the server for a cookie; the page itself keeps nothing. */
export function SignIn() {
  const { isBusy, error, run } = useAction(async (form: HTMLFormElement) => {
    try {
      await post("session", { token: new FormData(form).get("token") })
    } catch (fault) {
      if (!(fault instanceof RequestFailure) || fault.status !== 401) throw fault
      throw new RequestFailure(401, "That is not the token", "It is the token or read_token of [admin].")
    }
    isSignedOut.value = false
    sessions.value++
  })
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    run(event.currentTarget as HTMLFormElement)
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
