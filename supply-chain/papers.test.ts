import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { bundleSdk, SDK_MODULES } from "../scripts/build-sdks.ts"
import { renderNotices } from "./notices.ts"
import { packagesOfUsers, ROOT } from "./packages.ts"
import { renderSbom } from "./sbom.ts"

test("the bill of materials and the notices have every package that users have, and no other", () => {
  const all = packagesOfUsers().map(({ name, version }) => `${name} ${version}`)
  const bom = JSON.parse(renderSbom()) as { components: { name: string; version: string }[] }
  const inBom = bom.components.map(({ name, version }) => `${name} ${version}`)
  expect(inBom.toSorted()).toEqual(all.toSorted())
  const inNotices = [...renderNotices().matchAll(/^\| (\S+) \| (\d\S*) \|/gm)].map(
    ([, name, version]) => `${name} ${version}`,
  )
  expect(inNotices.toSorted()).toEqual(all.toSorted())
  expect(all.filter((it) => it.startsWith("bun "))).toHaveLength(1)
  expect(all.filter((it) => /^(typescript|twilio|knip) /.test(it))).toEqual([])
})

/** The name of the package that a file belongs to; undefined: it is Hookline's own. */
const packageOf = (file: string): string | undefined => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]

test("what is bundled is listed as bundled, unless npm installs it as well", async () => {
  const sdks = await Promise.all(SDK_MODULES.map(bundleSdk))
  const page = await Bun.build({
    entrypoints: [join(ROOT, "console/index.html")],
    target: "browser",
    jsx: { runtime: "automatic", importSource: "preact", development: false },
    metafile: true,
  })
  const files = [...sdks.flatMap((it) => it.files), ...Object.keys(page.metafile!.inputs)]
  const names = new Set(files.map(packageOf).filter((it) => it !== undefined))
  expect([...names]).toEqual(expect.arrayContaining(["@aws-sdk/core", "zod", "preact", "uplot"]))
  const listed = packagesOfUsers()
  expect([...names].filter((it) => !listed.some(({ name }) => name === it))).toEqual([])
  const bundled = listed.filter(({ isBundled }) => isBundled)
  expect(bundled.length).toBeGreaterThan(20)
  expect(bundled.filter(({ path }) => path === "node_modules/bun" || path === "node_modules/pino")).toEqual(
    [],
  )
})

test("the bill of materials is the same each time, and names no host that packages come from", () => {
  const bom = renderSbom()
  expect(renderSbom()).toBe(bom)
  expect(bom.match(/https?:\/\/[^"/]+/g)).toEqual(["http://cyclonedx.org"])
})

test("package-lock.json has the packages of every platform, with a digest and without a host: npm 11 installs no other", () => {
  interface Locked {
    readonly resolved?: string
    readonly integrity?: string
    readonly link?: boolean
    readonly optionalDependencies?: { readonly [name: string]: string }
  }
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: { [path: string]: Locked }
  }
  const wrong = Object.entries(packages).flatMap(
    ([path, { resolved, integrity, link, optionalDependencies = {} }]) => [
      ...(path.startsWith("node_modules/") &&
      link !== true &&
      (resolved !== undefined || integrity === undefined)
        ? [path]
        : []),
      ...Object.keys(optionalDependencies).filter(
        (name) =>
          packages[`${path}/node_modules/${name}`] === undefined &&
          packages[`node_modules/${name}`] === undefined,
      ),
    ],
  )
  expect(wrong).toEqual([])
})
