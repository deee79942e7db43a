/**
 * The keys of a Router. Its section has lines `pattern = topic` next to them: each is a line of `routes`, and what is
 * before the last `=` is the pattern, whatever its characters.
 */
export const ROUTER_KEYS = ["by", "routes", "topic", "topics", "max_topics", "unsigned"] as const

/** @param section as the file spells it */
export const hasRouteLines = (section: string): boolean =>
  // asked for every line
  section.includes("Router") && /:\s*Router\s*$/.test(section)

/** Whether a line of a Router's section is one of its keys. */
export const isRouterKey = (line: string): boolean => {
  const key = /^([a-z_]+)\s*[=:]/i.exec(line)?.[1]?.toLowerCase()
  return (ROUTER_KEYS as readonly (string | undefined)[]).includes(key)
}
