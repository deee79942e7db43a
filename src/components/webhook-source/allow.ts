import { list, oneOf, path, text, type Values } from "../../config/options/option-types.ts"
import type { Checking } from "../../config/declarations.ts"
import { opening } from "../../errors.ts"
import type { Route } from "../../http/route.ts"
import { proxiedFetch } from "../../outgoing/proxied-fetch.ts"
import { addressTest, parseNetwork } from "../../addresses/addresses.ts"
import { PUBLISHED_LISTS } from "../../addresses/published-lists.ts"
import { RequestLog } from "../../telemetry/request-log.ts"
import type { ComponentContext } from "../define-component.ts"
import { PublishedAddresses, type PublishedAddressesOptions } from "./published-addresses.ts"

const PREFIX = "provider:"
const isPublished = (value: string): boolean =>
  value.startsWith(PREFIX) && Object.hasOwn(PUBLISHED_LISTS, value.slice(PREFIX.length))

const allowed = text({
  form: `an address or network such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32, or ${PREFIX} and one of ${Object.keys(PUBLISHED_LISTS).join(", ")}`,
  accepts: (value) => parseNetwork(value) !== undefined || isPublished(value),
  doc: "An address, a network or a sender.",
})

/** The options of WebHookSource that say who may send. */
export const ALLOW_OPTIONS = {
  allow: list(allowed, {
    optional: true,
    doc: "Addresses and networks that may send; others get 403. `provider:github` stands for the addresses that the sender publishes, fetched every hour: proxies.md. Default: any.",
  }),
  allow_mode: oneOf(["enforce", "observe"], {
    default: "enforce",
    needs: "allow",
    doc: "With observe, requests from other addresses are logged and pass: for introducing `allow` on a live endpoint.",
  }),
  allow_directory: path({
    optional: true,
    needs: "allow",
    doc: "The folder that keeps the last good list of each `provider:` in `allow`; several pipelines may share it.",
  }),
}

type AllowValues = Values<typeof ALLOW_OPTIONS>

export function checkAllow({ values: { allow = [] }, isGiven, wrong }: Checking<typeof ALLOW_OPTIONS>): void {
  const sender = allow.find(isPublished)
  if (sender !== undefined && !isGiven("allow_directory"))
    wrong(
      "allow_directory",
      `is missing; ${sender} needs a folder that keeps the last good list`,
      "missing_key",
    )
  if (sender === undefined && isGiven("allow_directory"))
    wrong("allow_directory", `has no effect: allow names no ${PREFIX}`, "conflicting_keys")
}

/** Tests addresses, those that are named and those of the lists, and says which lists are not known yet. */
export function addressFilter(
  { allow, allow_mode: mode, allow_directory: directory = "" }: AllowValues,
  { log, acquire }: Pick<ComponentContext, "log" | "acquire">,
  more: Partial<PublishedAddressesOptions> = {},
): Partial<Pick<Route, "allows" | "problem">> {
  if (allow === undefined) return {}
  const isNamed = addressTest(allow.filter((it) => !isPublished(it)))
  const lists = allow.filter(isPublished).map((it) => {
    const provider = it.slice(PREFIX.length)
    const list = PUBLISHED_LISTS[provider]!
    return acquire({
      name: `addresses of ${provider}`,
      config: directory,
      open: () =>
        opening(
          "allow_directory",
          () => new PublishedAddresses({ provider, list, directory, log, fetch: proxiedFetch, ...more }),
        ),
      close: (addresses) => addresses.close(),
    })
  })
  const allows = (address: string): boolean | undefined => {
    if (isNamed(address)) return true
    const found = lists.map((it) => it.allows(address))
    return found.includes(true) || (found.includes(undefined) ? undefined : false)
  }
  if (mode === "enforce")
    return { allows, problem: () => lists.map((it) => it.problem()).find((it) => it !== undefined) }
  log.warn("ADDRESSES ARE ONLY OBSERVED: events from any address are accepted; set allow_mode = enforce")
  const passes = acquire({
    name: "log of addresses",
    open: () => new RequestLog(log),
    close: (it) => it.flush(),
  })
  const observed = (address: string): boolean => {
    if (allows(address) !== true)
      passes.write(
        "warn",
        { pipeline: undefined, reason: "address_not_allowed", remote_address: address },
        "address not in allow; passes",
      )
    return true
  }
  return { allows: observed }
}
