import { isThisMachine } from "../../outgoing/proxied-fetch.ts"

type Source = { readonly [key: string]: unknown }

/** Whether a pipeline's source listens at a URL. Not seen: one that leads there through a proxy. */
export function isListeningAt(source: Source, url: URL): boolean {
  if (publicUrlOf(source)?.origin === url.origin) return isReachedAt(source, url)
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80))
  return isPathOf(source, url) && port === source["port"] && isThisMachine(url.hostname)
}

/** Whether a URL may lead to a pipeline's source: by its `public_url`, or by its path, since proxies have other hosts. */
export function isReachedAt(source: Source, url: URL): boolean {
  const publicUrl = publicUrlOf(source)
  if (publicUrl === undefined) return isPathOf(source, url)
  const isPath = publicUrl.pathname === "/" ? isPathOf(source, url) : url.pathname === publicUrl.pathname
  return url.origin === publicUrl.origin && isPath
}

const publicUrlOf = ({ public_url: text }: Source): URL | undefined =>
  text === undefined ? undefined : new URL(String(text))

function isPathOf(source: Source, { pathname }: URL): boolean {
  const path = String(source["path"])
  return path.endsWith("*") ? pathname.startsWith(path.slice(0, -1)) : pathname === path
}
