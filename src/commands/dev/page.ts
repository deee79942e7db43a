import { AdminClient } from "../../admin/admin-client.ts"
import type { CaptureSummary } from "../../admin/api/shapes.ts"
import { clientTls } from "../../admin/client-tls.ts"
import type { Plan } from "../../runtime/plan/plan.ts"
import { adminUrl } from "../ask-admin.ts"

type Admin = Plan["admin"]

/** The page's address; undefined: there is none. */
export const pageOf = ({ listen, ...place }: Admin): string | undefined =>
  listen === "off" ? undefined : `${adminUrl({ ...place, listen })}/`

/** Whether this is a desktop's own terminal, whose browser can be opened. */
export const hasDesktop = (env: { readonly [name: string]: string | undefined }): boolean =>
  isUnset(env.CI) &&
  isUnset(env.SSH_CONNECTION) &&
  (process.platform === "darwin" || !isUnset(env.DISPLAY) || !isUnset(env.WAYLAND_DISPLAY))

const isUnset = (value: string | undefined): boolean => value === undefined || value === ""

/** Opens a URL in the desktop's browser. @returns false: there is no program that does */
export function openInBrowser(url: string): boolean {
  const program = process.platform === "darwin" ? "open" : "xdg-open"
  if (Bun.which(program) === null) return false
  Bun.spawn([program, url], { stdio: ["ignore", "ignore", "ignore"] }).unref()
  return true
}

/** Sends the request that came last again, with its own signature. @param id its id @returns why not; undefined: it was sent */
export async function resendLast(
  { listen, token = "", tls_certificate: file }: Admin,
  id: string | undefined,
): Promise<string | undefined> {
  if (listen === "off") return "the admin API, which does it, is off"
  try {
    const tls = file === undefined ? undefined : clientTls(file)
    const admin = new AdminClient(adminUrl({ listen, tls_certificate: file }), token, tls)
    const [last] = await admin.ask<CaptureSummary[]>("captures")
    if (last === undefined) return "no request is kept: [admin] capture says which are"
    if (last.request_id !== id) return "the last request is not kept: [admin] capture says which are"
    await admin.ask(`captures/${encodeURIComponent(last.id)}/resend`, "POST")
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
