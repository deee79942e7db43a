/** Where a provider posts to, how it gets there, and what the configuration needs for it. */
import type { ProviderSetup } from "../../api.ts"

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/
const ANY = /^(0\.0\.0\.0|\[::\])$/

/** A listener's URL as a sender writes it; `pageHost`, as the page was reached, stands for an address that means any. */
export function senderAddress(url: string, pageHost: string): string {
  const { protocol, hostname, port, pathname } = new URL(url)
  const host = ANY.test(hostname) ? pageHost : hostname
  return `${protocol}//${host}${port && `:${port}`}${pathname}`
}

/** Whether only programs on its own machine reach it. */
export const isLocal = (url: string): boolean => LOOPBACK.test(new URL(url).hostname)

/** Programs that hand requests from the internet to a laptop: their commands for a listener's URL, and what to do next. */
export function tunnelsTo(url: string) {
  const { protocol, hostname, port, pathname } = new URL(url)
  const isTls = protocol === "https:"
  const number = port || (isTls ? "443" : "80")
  const host = `${ANY.test(hostname) ? "localhost" : hostname}:${number}`
  const isHere = ANY.test(hostname) || LOOPBACK.test(hostname)
  return [
    {
      name: "Stripe CLI",
      command: `stripe listen --forward-to ${isTls ? "https://" : ""}${host}${pathname}${isTls ? " --skip-verify" : ""}`,
      next: "It prints a secret of its own, whsec_…: that is the one to configure. It brings the events of Stripe's test mode.",
    },
    {
      name: "cloudflared",
      command: `cloudflared tunnel --url ${protocol}//${host}${isTls ? " --no-tls-verify" : ""}`,
      next: `It prints an address like https://….trycloudflare.com; paste it at the provider with ${pathname} after it. It needs no account.`,
    },
    {
      name: "ngrok",
      command: `ngrok http ${isTls ? `https://${host}` : isHere ? number : host}`,
      next: `It prints an address like https://….ngrok-free.app; paste it at the provider with ${pathname} after it.`,
    },
  ]
}

/** What a pipeline that exists lacks to verify a provider: its Verifier, and the public URL where that is signed. */
export function linesFor(pipeline: string, { provider, configuration }: ProviderSetup): string {
  const sections = configuration.trim().split("\n\n")
  const lacking = sections.flatMap((section) => {
    const [head = "", ...lines] = section.split("\n")
    const kept = head.endsWith(":Verifier]") ? lines : lines.filter((it) => it.startsWith("public_url"))
    return kept.length === 0
      ? []
      : [[head.replace(`:${provider}:`, () => `:${pipeline}:`), ...kept].join("\n")]
  })
  return lacking.join("\n\n")
}
