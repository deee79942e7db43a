import { join } from "node:path"

/** The page's files by their path; all are text. */
export interface BuiltPage {
  readonly [path: string]: { readonly text: string; readonly contentType: string }
}

/**
 * Bundles the page from its source, in some 0.1 s. This runs in a checkout; `npm run build` and `npm run build:binary` put
 * what it returns in this module's place, see scripts/built-page.ts.
 */
export async function builtPage(): Promise<BuiltPage> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "../../console/index.html")],
    target: "browser",
    minify: true,
    splitting: true,
    publicPath: "/",
    naming: {
      entry: "[name].[ext]",
      chunk: "assets/[name]-[hash].[ext]",
      asset: "assets/[name]-[hash].[ext]",
    },
    jsx: { runtime: "automatic", importSource: "preact", development: false },
    define: { "process.env.NODE_ENV": '"production"' },
  })
  const files = outputs.map(async (output) => {
    const path = output.path.replace(/^\.?\//, "/")
    return [
      path === "/index.html" ? "/" : path,
      { text: await output.text(), contentType: output.type },
    ] as const
  })
  return Object.fromEntries(await Promise.all(files))
}
