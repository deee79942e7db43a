import { Answered } from "../event.ts"

/**
 * An answer that repeats what the sender wrote, which may be anybody: never as anything that a browser would run.
 */
export function echo(reason: string, body: string): Answered {
  return new Answered(reason, {
    body,
    headers: { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" },
  })
}

export function json(reason: string, value: object): Answered {
  return new Answered(reason, {
    body: JSON.stringify(value),
    headers: { "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" },
  })
}

/**
 * What providers have an endpoint sign to prove that it knows the secret. Nothing else is signed: a whole body in its
 * place would give its sender the signature of a forged event.
 */
export const isSignable = (text: unknown): text is string =>
  typeof text === "string" && /^[A-Za-z0-9+/=_-]{1,512}$/.test(text)
