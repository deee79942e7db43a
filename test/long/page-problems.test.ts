import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "bun:test"
import { accessibilityFindings, hasBrowser, openPage, startBrowser } from "../support/browser.ts"
import { hookline, reload, sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { overflowPx } from "../support/page.ts"
import { freePorts } from "../support/ports.ts"
import { pipelineTo } from "../support/troubled.ts"

const SECRET = "a-secret-of-the-tests"

/** A Kafka behind a spool that can't be reached, and a pipeline that verifies. */
async function start() {
  const folder = temporaryFolder()
  const [port, admin, unreachable] = (await freePorts(3)) as [number, number, number]
  const running = await startHookline(
    `[connection:log]
directory = log
[connection:kept]
bootstrap_servers = 127.0.0.1:${unreachable}
spool = spool.db
[defaults:WebHookSource]
host = 127.0.0.1
port = ${port}
${pipelineTo("spooled", "kept")}
${pipelineTo("signed", "log", `[pipeline:signed:Verifier]\nprovider = github\nsecret = ${SECRET}`)}
[admin]
listen = 127.0.0.1:${admin}
`,
    { folder: folder.path },
  )
  const post = (id: string, body: string, headers: { [name: string]: string } = {}) =>
    fetch(running.urls[id]!, { method: "POST", body, headers })
  return {
    running,
    folder: folder.path,
    adminUrl: running.adminUrl!,
    post,
    signed: (secret: string) =>
      post("signed", "{}", {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": crypto.randomUUID(),
        "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update("{}").digest("hex")}`,
      }),
    async status() {
      const { stdout } = await hookline(["status", "-c", join(folder.path, "pipelines.conf")], {
        cwd: folder.path,
      })
      return stdout
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

describe.skipIf(!hasBrowser())("the page's list of problems", () => {
  const browser = sharedByTests(startBrowser)
  const service = sharedByTests(start)

  test("Kafka that is down behind a spool is named in the header, the list and status, with what to do", async () => {
    expect((await service.post("spooled", "{}")).status).toBe(200)
    const { page, faults } = await openPage(browser, service.adminUrl)
    const cause = /Events of kept are kept in its spool .*: Kafka unavailable: connection refused/
    await page.locator(".service").getByText(cause).waitFor()
    await page.locator(".service .state-warning").waitFor()
    const line = page
      .getByRole("list", { name: "Needs action" })
      .getByRole("listitem")
      .filter({ hasText: cause })
    await line.getByText("See that the broker runs").waitFor()
    expect(await service.status()).toMatch(cause)
    expect(await accessibilityFindings(page)).toEqual([])
    expect(await overflowPx(page)).toBe(0)
    expect(faults).toEqual([])
    await page.context().close()
  })

  test("one refused signature is listed until an event is verified, and is then over, below what is there", async () => {
    expect((await service.signed(SECRET)).status).toBe(200)
    expect((await service.post("signed", "{}")).status).toBe(401)
    const { page, faults } = await openPage(browser, service.adminUrl)
    const items = page.getByRole("list", { name: "Needs action" }).getByRole("listitem")
    const row = page.locator('tr[data-id="signed"]')
    await row.getByText("receiving").filter({ visible: true }).waitFor()
    expect((await service.signed("the secret that was changed")).status).toBe(401)
    const line = items.filter({ hasText: "1 request of signed with a signature was refused" })
    await line.getByText("no secret or key matches").waitFor()
    await row
      .getByText(/^refusing/)
      .filter({ visible: true })
      .waitFor()
    // as it is listed for longer than a moment
    await line.getByText(/for [3-9] s/).waitFor()
    await line.getByRole("link", { name: "Look at them" }).click()
    await page.waitForURL(/#\/refused\?pipeline=signed/)
    await page.goBack()
    expect((await service.signed(SECRET)).status).toBe(200)
    const over = items.filter({ hasText: /ended \d+ s ago/ })
    await over.filter({ hasText: "of signed" }).waitFor()
    const texts = await items.allTextContents()
    expect(texts.findIndex((it) => it.includes("of signed"))).toBeGreaterThan(
      texts.findIndex((it) => it.includes("Events of kept")),
    )
    expect(faults).toEqual([])
    await page.context().close()
  })

  test("a failed reload is named until one succeeds", async () => {
    const { running, folder } = service
    const { page, faults } = await openPage(browser, service.adminUrl)
    const items = page.getByRole("list", { name: "Needs action" }).getByRole("listitem")
    const line = items.filter({ hasText: "The configuration on disk does not start" })
    const right = readFileSync(join(folder, "pipelines.conf"), "utf8")
    expect(await reload(running, folder, `${right}[service]\ntokn = none\n`)).toBe("not")
    await line.getByText(/\[service\] tokn: .*the one loaded at \S+ is active/).waitFor()
    await line.getByText("Mend the file before the next restart").waitFor()
    expect(await service.status()).toContain("The configuration on disk does not start")
    expect(await reload(running, folder, right)).toBe("reloaded")
    // a brief one is not listed as over
    await items
      .filter({ hasText: "does not start" })
      .filter({ hasNotText: /ended \d+ s ago/ })
      .waitFor({ state: "detached" })
    expect(faults).toEqual([])
    await page.context().close()
  })

  test("a problem is acknowledged by name, and taken back", async () => {
    const { page, faults } = await openPage(browser, service.adminUrl)
    const items = page.getByRole("list", { name: "Needs action" }).getByRole("listitem")
    const line = items.filter({ hasText: "Events of kept are kept" })
    await line.getByRole("button", { name: "Acknowledge" }).click()
    await line.getByLabel("Your name").fill("ana")
    await line.getByRole("button", { name: "Acknowledge" }).click()
    await line.getByText(/acknowledged by ana until/).waitFor()
    expect(await service.status()).toContain("acknowledged by ana until")
    await line.getByRole("button", { name: "Take back" }).click()
    await line.getByText("See that the broker runs").waitFor()
    expect(faults).toEqual([])
    await page.context().close()
  })
})
