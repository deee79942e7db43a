import { expect, test } from "bun:test"
import { cp, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { Binary } from "../support/binary.ts"
import { buildDebianPackage } from "../../scripts/release/debian.ts"
import { blocksBelow, blocksOf, ROOT } from "../support/documents.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { canBoot, makeRoot, runBooted } from "../support/machine.ts"

const PACKAGES = ["systemd", "systemd-sysv", "dbus", "sudo"]
const SECRETS = ["whsec_b2J2aW91c2x5LWZha2U=", "whsec_YWxzby1vYnZpb3VzbHktZmFrZQ=="] as const

test.skipIf(!canBoot())(
  "a machine set up as docs/deploying.md says, and by the Debian package as docs/installing.md says, takes events, reloads, restarts after a kill, is upgraded and downgraded, stops, and keeps its data when Hookline is removed",
  async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, "machine")
    const binary = Binary.build(folder.make("binary"))
    await makeRoot(root, PACKAGES)
    const checkout = join(root, "src")
    await mkdir(join(checkout, "dist"), { recursive: true })
    await cp(binary.file, join(checkout, "dist/hookline"))
    for (const path of ["deploy", "docs/hookline.1"])
      await cp(join(ROOT, path), join(checkout, path), { recursive: true })

    const deb = { target: "linux-x64", binary: binary.file }
    await cp(await buildDebianPackage(ROOT, deb, folder.path, 0), join(checkout, "package.deb"))
    const newer = folder.make("newer")
    for (const path of ["deploy", "docs/hookline.1", "LICENSE", "THIRD-PARTY-NOTICES.md"])
      await cp(join(ROOT, path), join(newer, path), { recursive: true })
    await writeFile(join(newer, "package.json"), '{"version":"99.0.0"}')
    await cp(await buildDebianPackage(newer, deb, folder.path, 0), join(checkout, "newer.deb"))
    const [aptInstall = "", startPackaged, seen] = blocksBelow(
      "docs/installing.md",
      "Debian package",
    ).flatMap(({ language, text }) =>
      language === "sh" ? [text.replace(/hookline_\S+\.deb/, "package.deb")] : [],
    )
    const packaged = blocksBelow("docs/installing.md", "Debian package").find(
      ({ language }) => language === "ini",
    )!
    await writeFile(join(checkout, "packaged.conf"), packaged.text)

    const blocks = blocksOf("docs/deploying.md")
    const [install, start, remove] = blocks.filter(
      ({ language, text }) => language === "sh" && text.includes("sudo "),
    )
    const configuration = blocks.find(({ text }) => text.includes("/etc/hookline/secrets/"))!
    await writeFile(join(checkout, "pipelines.conf"), configuration.text)
    const withoutKafka = blocks.find(({ text }) => text.includes("directory = /var/lib/hookline/log"))!
    await writeFile(join(checkout, "small.conf"), withoutKafka.text)
    const installed = install!.text.replaceAll(/^npm .*\n/gm, "")
    const [replace] = installed.split("\n")
    const send = (secret: string): string =>
      `hookline send -p stripe --secret ${secret} http://localhost:8080/stripe`
    const fails = (command: string): string => `if ${command}; then exit 1; fi`
    const isVersion = (version: string): string =>
      `test "$(dpkg-query --show --showformat '\${Version}' hookline)" = ${version}`
    const listens = "until hookline health -c /etc/hookline/pipelines.conf; do sleep 0.1; done"
    const { status, output } = await runBooted(
      root,
      `cd /src
export STRIPE_WEBHOOK_SECRET=${SECRETS[0]}
${installed}
${start!.text}
${listens}
${send(SECRETS[0])}
: a rotated secret
printf %s ${SECRETS[1]} > /etc/hookline/secrets/stripe
systemctl reload hookline
until ${send(SECRETS[1])}; do sleep 0.1; done
${fails(send(SECRETS[0]))}
: a wrong configuration changes nothing
echo '[pipelines]' >> /etc/hookline/pipelines.conf
${fails("systemctl reload hookline")}
${send(SECRETS[1])}
install -g hookline -m 640 pipelines.conf /etc/hookline/pipelines.conf
: a crash
kill -9 $(systemctl show -P MainPID hookline)
${listens}
${send(SECRETS[1])}
: an upgrade
${replace}
sudo systemctl restart hookline
${listens}
${send(SECRETS[1])}
systemctl stop hookline
test "$(systemctl show -P Result hookline)" = success
: all that was accepted is on the disk, which is of its user alone
sudo -u hookline hookline spool status -c /etc/hookline/pipelines.conf
test -z "$(find /var/lib/hookline -not -user hookline -or -perm /077)"
: one small machine, without Kafka
printf %s ${SECRETS[0]} | install -g hookline -m 640 /dev/stdin /etc/hookline/secrets/github
install -g hookline -m 640 small.conf /etc/hookline/pipelines.conf
systemctl start hookline
${listens}
hookline send -p github --secret ${SECRETS[0]} http://localhost:8080/github
sudo -u hookline hookline tail github -c /etc/hookline/pipelines.conf | grep received_at
: a removal, which leaves data, configuration and secrets
${remove!.text}
test -e /var/lib/hookline/kafka.sqlite -a -e /var/lib/hookline/log/log.sqlite -a -e /etc/hookline/pipelines.conf -a -e /etc/hookline/secrets/stripe
${fails("systemctl cat hookline")}
${fails("find /usr/local /etc -path '*hookline*' -not -path '/etc/hookline*' -not -name 'hookline-test.service' | grep .")}
: the Debian package, on a machine that has never seen Hookline
hash -r
userdel hookline
rm -r /etc/hookline /var/lib/hookline
${aptInstall}
sudo -u hookline hookline check -c /etc/hookline/pipelines.conf
${fails("systemctl is-enabled hookline || systemctl is-active hookline")}
test -e /usr/share/man/man1/hookline.1.gz
cp packaged.conf pipelines.conf
${startPackaged}
${listens}
${seen}
: the page has the event, by its API
exec 3<>/dev/tcp/127.0.0.1/9464
printf 'GET /api/records?connection=log&topic=stripe HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3
grep '"type":"payment_intent.succeeded"' <&3
: its upgrade restarts it and leaves events and the configuration as they are
before=$(systemctl show -P MainPID hookline)
${aptInstall.replace("package.deb", "newer.deb")}
${isVersion("99.0.0")}
${fails('test "$before" = "$(systemctl show -P MainPID hookline)"')}
${listens}
${seen}
cmp packaged.conf /etc/hookline/pipelines.conf
: so does the way back
before=$(systemctl show -P MainPID hookline)
${aptInstall.replace("install", "install --yes --allow-downgrades")}
${isVersion(manifest.version)}
${fails('test "$before" = "$(systemctl show -P MainPID hookline)"')}
${listens}
${seen}
cmp packaged.conf /etc/hookline/pipelines.conf
sudo -u hookline hookline tail stripe -c /etc/hookline/pipelines.conf | grep -c received_at | grep -x 3
: its removal leaves events and secrets
apt-get purge --yes hookline
test -e /var/lib/hookline/log/log.sqlite -a -e /etc/hookline/secrets/stripe
${fails("systemctl cat hookline")}
${fails("test -e /usr/bin/hookline")}`,
    )
    expect(status, output).toBe(0)
    expect(output).toContain("5 to be forwarded")
  },
)
