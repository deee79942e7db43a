import { parseNetwork } from "./addresses.ts"

/** Where a sender publishes the addresses that its webhooks come from. */
export interface PublishedList {
  /** Documents of JSON where `at` is set, else of text with an address or network a line. */
  readonly urls: readonly string[]
  /** The members that lead to the list. */
  readonly at?: readonly string[]
  /** Where the list has objects: the member with the network, and lists that must contain a word. */
  readonly items?: { readonly network: string; readonly where: { readonly [member: string]: string } }
}

const atlassian = (product: string): PublishedList => ({
  urls: ["https://ip-ranges.atlassian.com/"],
  at: ["items"],
  items: { network: "cidr", where: { product, direction: "egress" } },
})

export const PUBLISHED_LISTS: { readonly [provider: string]: PublishedList } = {
  // https://docs.github.com/en/rest/meta/meta#get-github-meta-information
  github: { urls: ["https://api.github.com/meta"], at: ["hooks"] },
  // https://docs.stripe.com/ips#webhook-notifications
  stripe: { urls: ["https://stripe.com/files/ips/ips_webhooks.txt"] },
  // https://support.atlassian.com/organization-administration/docs/ip-addresses-and-domains-for-atlassian-cloud-products/
  bitbucket: atlassian("bitbucket"),
  jira: atlassian("jira"),
  trello: atlassian("trello"),
  // https://developer.paddle.com/api-reference/ip-addresses/get-ip-addresses
  paddle: { urls: ["https://api.paddle.com/ips"], at: ["data", "ipv4_cidrs"] },
  // https://developer.pagerduty.com/docs/webhook-ips : both service regions
  pagerduty: {
    urls: [
      "https://developer.pagerduty.com/ip-safelists/webhooks-us-service-region",
      "https://developer.pagerduty.com/ip-safelists/webhooks-eu-service-region",
    ],
  },
  // https://core.telegram.org/resources/cidr.txt
  telegram: { urls: ["https://core.telegram.org/resources/cidr.txt"] },
}

/** More would be tested too slowly for each request. */
const MOST_NETWORKS = 1000
/** The widest networks that are believed, in bits: no sender has more addresses. */
const LEAST_BITS = { ipv4: 8, ipv6: 24 }

/**
 * The networks of a document.
 *
 * @throws Error with what is wrong with it, to follow "the list"
 */
export function readPublishedList(text: string, list: Pick<PublishedList, "at" | "items">): string[] {
  const networks = list.at === undefined ? readLines(text) : readItems(JSON.parse(text), list)
  if (networks.length === 0) throw new Error("is empty")
  if (networks.length > MOST_NETWORKS) throw new Error(`has more than ${MOST_NETWORKS} networks`)
  for (const network of networks) {
    const parsed = typeof network === "string" ? parseNetwork(network) : undefined
    if (parsed === undefined) throw new Error("has an item that is neither an address nor a network")
    const [address, bits] = parsed
    if (bits < LEAST_BITS[address.kind()]) throw new Error(`has ${network as string}, which is too wide`)
  }
  return networks as string[]
}

const readLines = (text: string): string[] => text.split(/\s+/).filter((line) => line !== "")

function readItems(json: unknown, { at = [], items }: Pick<PublishedList, "at" | "items">): unknown[] {
  const found = at.reduce((value, name) => (value as Json | null | undefined)?.[name], json)
  if (!Array.isArray(found)) throw new Error(`has no ${at.join(".")}`)
  if (items === undefined) return found
  const { network, where } = items
  const isMeant = (item: Json): boolean =>
    Object.entries(where).every(([name, word]) => (item[name] as unknown[] | undefined)?.includes(word))
  return (found as Json[]).filter(isMeant).map((item) => item[network])
}

type Json = { readonly [name: string]: unknown }
