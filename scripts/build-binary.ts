/**
 * Compiles the command line to one file that needs neither Bun nor node_modules. Like bin/hookline it reads nothing of the
 * folder that it is started in but what its command line names.
 *
 * Run it with `npm run build:binary [-- FILE]`; the file is dist/hookline where none is named. It is for the machine that
 * builds it, unless `--target` names another one (`darwin-arm64`, `linux-x64-musl`) and `--runtime` the executable of its Bun.
 */
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { builtPageModule } from "./built-page.ts"

const src = join(import.meta.dir, "../src")
const { values, positionals } = parseArgs({
  options: { target: { type: "string" }, runtime: { type: "string" } },
  allowPositionals: true,
})
const outfile = resolve(positionals[0] ?? join(import.meta.dir, "../dist/hookline"))
// before the build: one within a plugin of another never ends
const page = await builtPageModule()

const { success, logs } = await Bun.build({
  // the modules of threads are looked for beside the program, see src/process/thread-url.ts
  entrypoints: ["cli.ts", ...new Bun.Glob("**/*-thread.ts").scanSync(src)].map((file) => join(src, file)),
  naming: "[name].[ext]",
  compile: {
    outfile,
    ...(values.target !== undefined && { target: `bun-${values.target}` as Bun.Build.CompileTarget }),
    ...(values.runtime !== undefined && { executablePath: resolve(values.runtime) }),
    autoloadBunfig: false,
    autoloadDotenv: false,
    autoloadPackageJson: false,
    autoloadTsconfig: false,
  },
  sourcemap: "inline",
  // a start then need not parse and compile the source; only for this machine, where tests run the executable
  bytecode: values.target === undefined || values.target === `${process.platform}-${process.arch}`,
  format: "esm",
  // a module of CommonJS has the folder that it was built in otherwise, so that no two folders make the same bytes
  define: { __dirname: '"/node_modules"' },
  plugins: [
    {
      name: "the Kafka client's codecs, from the module that has the wasm in itself instead of a file beside it",
      setup(build) {
        build.onResolve({ filter: /^@platformatic\/wasm-utils$/ }, () => ({
          path: fileURLToPath(import.meta.resolve("@platformatic/wasm-utils/bundled")),
        }))
      },
    },
    {
      name: "the admin page, bundled",
      setup(build) {
        build.onLoad({ filter: /\/src\/admin\/built-page\.ts$/ }, () => ({ contents: page, loader: "js" }))
      },
    },
  ],
})
for (const log of logs) console.error(log)
if (!success) process.exit(1)
console.log(outfile)
