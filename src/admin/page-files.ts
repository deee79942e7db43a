import { missingPackage } from "../process/missing-package.ts"
import { builtPage } from "./built-page.ts"

/** A file of the admin page. */
export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly contentType: string
  /** Whether its name has the hash of its content, so that browsers may keep it. */
  readonly isImmutable: boolean
}

/**
 * What every answer with a part of the page carries. No inline script or style runs, nothing is loaded from elsewhere, and
 * no other site frames it.
 */
export const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const

let made: Promise<ReadonlyMap<string, PageFile>> | undefined

/**
 * The page's files by their path, `/` and `/assets/page-<hash>.js` among them; they are made at the first call, and at the
 * next one after a failure.
 */
function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  made ??= load().catch((error: unknown) => {
    made = undefined
    throw error
  })
  return made
}

async function load(): Promise<ReadonlyMap<string, PageFile>> {
  const encoder = new TextEncoder()
  return new Map(
    Object.entries(await builtPage()).map(([path, { text, contentType }]) => {
      const bytes = encoder.encode(text)
      return [path, { bytes, gzipped: Bun.gzipSync(bytes), contentType, isImmutable: path !== "/" }]
    }),
  )
}

/** A response with a file of the page, compressed if the client accepts gzip; undefined: no file has that path. */
export async function answerWithPage(path: string, request: Request): Promise<Response | undefined> {
  const files = await pageFiles().catch(withoutPackages)
  if (files instanceof Response) return files
  const file = files.get(path)
  if (file === undefined) return undefined
  const isGzipped = acceptsGzip(request)
  const headers = {
    ...PAGE_HEADERS,
    Vary: "Accept-Encoding",
    ...(isGzipped && { "Content-Encoding": "gzip" }),
    "Content-Type": file.contentType,
    "Cache-Control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
  }
  return new Response(isGzipped ? file.gzipped : file.bytes, { headers })
}

/** The answer of a checkout without the packages that the page is made of. Whoever reads it need not know its folder. */
function withoutPackages(error: unknown): Response {
  if (missingPackage(error) === undefined) throw error
  const remedy = "run 'npm install' in Hookline's folder, without --omit=dev (package_missing)"
  const headers = { ...PAGE_HEADERS, "Content-Type": "text/plain; charset=utf-8" }
  return new Response(`the packages of the admin page are not installed: ${remedy}\n`, {
    status: 503,
    headers,
  })
}

export const acceptsGzip = ({ headers }: Request): boolean =>
  /\bgzip\b(?!;\s*q=0(\.0*)?(,|\s|$))/i.test(headers.get("accept-encoding") ?? "")
