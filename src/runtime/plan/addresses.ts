import { message, named, ofSection, setting } from "../../message.ts"
import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import { within } from "../../clock/clock.ts"
import type { Steps } from "../../clock/slices.ts"
import type { Place, Problems } from "../../config/file/problems.ts"
import type { OptionSet } from "../../config/options/option-types.ts"
import type { Resolved } from "../../config/options/resolve.ts"
import { hostKey, isInUse, pathKey, type EndpointOptions } from "../../addresses/endpoint.ts"
import { HooklineError, OptionError } from "../../errors.ts"
import { checkFree } from "../../http/listener.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"

/** The section that an address is of. */
interface AddressOwner extends Pick<Resolved<OptionSet>, "isSound" | "home"> {
  readonly values: { readonly [key: string]: unknown }
  isGiven(key: string): boolean
  where(key: string): Place
}

/** An address that is listened on. */
export interface PlannedAddress extends EndpointOptions {
  /** `pipeline "payments"` */
  readonly title: () => string
  readonly owner: AddressOwner
  /** Its option that may be off. Absent: a pipeline's, which has `host` and `port`, and shares them with others. */
  readonly key?: string
  /** Whether a start continues while another program has it. */
  readonly isOptional?: boolean
}

/** The addresses of a draft; port 0 is a different one for each. */
export function* addressesOf({ pipelines, connections, admin }: ResolvedDraft): Steps<PlannedAddress[]> {
  const ofPipelines: PlannedAddress[] = []
  for (const { id, source } of pipelines) {
    yield
    if (source === undefined) continue
    const { host, port } = source.values
    ofPipelines.push({
      host: String(host),
      port,
      title: () => `pipeline ${JSON.stringify(id)}`,
      owner: source,
    })
  }
  const { listen = "off" } = admin.values
  const ofAdmin: PlannedAddress[] =
    listen === "off"
      ? []
      : [
          {
            ...listen,
            title: () => "the admin listener",
            owner: admin,
            key: "listen",
          },
        ]
  const ofConnections = [...connections].flatMap(([id, owner]) =>
    (owner.kind?.addresses?.(owner.values) ?? []).map(({ key, listen }): PlannedAddress => ({
      ...listen,
      title: () => `connection ${id}`,
      owner,
      key,
      isOptional: true,
    })),
  )
  return [...ofPipelines, ...ofAdmin, ...ofConnections].filter(({ port }) => port > 0)
}

/**
 * Waits, where the caller can, until the names among hosts were looked up: to listen on one looks it up on the event loop.
 *
 * @param find as dns.lookup; a name that is not found is left to who listens on it
 * @throws HooklineError `unavailable`
 */
export function* lookedUp(
  hosts: Iterable<string>,
  find: (name: string) => Promise<unknown> = lookup,
  mostMs = LOOKUP_MS,
): Steps<void> {
  for (const host of new Set(hosts)) {
    if (isIP(host) !== 0) continue
    yield async () => {
      const found = find(host).then(ignore, ignore)
      await within(mostMs, found, () => {
        const text = `can't listen on ${host}: no name server has answered for ${mostMs / 1000} s; name an address`
        throw new HooklineError("unavailable", text)
      })
    }
  }
}

const LOOKUP_MS = 5000
const ignore = (): void => {}

/** @throws OptionError `listen`, HooklineError `listen` where another program has the address */
export function checkIsFree({ host, port, key, isOptional = false }: PlannedAddress): void {
  try {
    checkFree({ host, port })
  } catch (error) {
    if (!(error instanceof OptionError) || key === undefined) throw error
    if (isOptional && isInUse(error.cause as NodeJS.ErrnoException)) return
    throw new OptionError("listen", key, message`${error.text}, or set ${setting(key, "off")}`, {
      cause: error.cause,
    })
  }
}

/** Checks that no address conflicts with an earlier one. */
export function* checkAddresses(resolved: ResolvedDraft): Steps<void> {
  for (const [other, one] of conflictsIn(yield* addressesOf(resolved))) {
    if (other !== undefined) report(other, one, resolved.problems)
    yield
  }
}

/** Addresses of a port that differ in nothing but their paths. */
interface Listener {
  readonly host: string
  readonly first: Numbered
  readonly byPath: Map<string, Numbered>
}

interface Numbered {
  readonly at: number
  readonly address: PlannedAddress
}

/** Gives each address the first earlier one that it conflicts with. Compares it with listeners, of which there are few. */
export function* conflictsIn(
  addresses: readonly PlannedAddress[],
): Iterable<readonly [other: PlannedAddress | undefined, one: PlannedAddress]> {
  const byPort = new Map<number, Listener[]>()
  for (const [at, address] of addresses.entries()) {
    const listeners = byPort.getOrInsertComputed(address.port, () => [])
    const host = hostKey(address.host)
    const path = pathOf(address.owner) ?? ""
    const own = listeners.find((it) => it.host === host && isSameListener(it.first.address, address))
    // what is not the same listener's conflicts on any path
    const other = listeners.find((it) => it !== own && overlap(it.host, host))?.first
    const ofPath = own?.byPath.get(path)
    const first = other === undefined || (ofPath !== undefined && ofPath.at < other.at) ? ofPath : other
    yield [first?.address, address]
    const one = { at, address }
    const byPath = own?.byPath ?? new Map<string, Numbered>()
    if (path !== "" && !byPath.has(path)) byPath.set(path, one)
    if (own === undefined) listeners.push({ host, first: one, byPath })
  }
}

const isSameListener = (a: PlannedAddress, b: PlannedAddress): boolean =>
  a.key === undefined &&
  b.key === undefined &&
  TLS_KEYS.every((key) => a.owner.values[key] === b.owner.values[key])

const TLS_KEYS = ["tls_certificate", "tls_key", "tls_client_ca"]

/** Why two addresses of one port can't both be listened on: the option, and what to say of it. undefined: they can. */
export function conflictOf(
  { host: otherHost, owner: other, key: otherKey }: PlannedAddress,
  { host, owner, key }: PlannedAddress,
): { readonly key: string; readonly text: string; readonly advice: string } | undefined {
  if (!overlap(hostKey(otherHost), hostKey(host))) return undefined
  if (key !== undefined || otherKey !== undefined)
    return { key: key ?? "port", text: "is the port of", advice: "choose another" }
  if (pathOf(owner) !== undefined && pathOf(owner) === pathOf(other)) {
    const advice = "give one of them another path or port"
    return { key: "path", text: "port and path are those of", advice }
  }
  if (hostKey(otherHost) !== hostKey(host)) {
    const advice = "give both the same host, or another port"
    return { key: "host", text: "overlaps, on the same port, the host of", advice }
  }
  const tlsKey = TLS_KEYS.find((key) => other.values[key] !== owner.values[key])
  const advice = "give both the same TLS settings, or another port"
  return tlsKey === undefined
    ? undefined
    : { key: tlsKey, text: "differs from that on the same port of", advice }
}

function report(other: PlannedAddress, one: PlannedAddress, problems: Problems): void {
  const { key, text, advice } = conflictOf(other, one)!
  if (one.key === "listen" && !one.owner.isGiven(key)) {
    const place = other.owner.where("port")
    const text = message`is the admin listener's by default; choose another, or set ${ofSection("admin", named("listen"))}`
    return problems.add(place, text)
  }
  const place = other.owner.where(one.key === undefined ? key : (other.key ?? "port"))
  problems.add(one.owner.where(key), `${text} ${other.title()} (${problems.locate(place)}); ${advice}`)
}

const pathOf = ({ values: { path } }: AddressOwner): string | undefined =>
  typeof path === "string" ? pathKey(path) : undefined

const EVERY_HOST = ["0.0.0.0", "::"]

const overlap = (a: string, b: string): boolean => a === b || EVERY_HOST.includes(a) || EVERY_HOST.includes(b)
