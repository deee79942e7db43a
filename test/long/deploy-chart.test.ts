import { describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { runToEnd, type Ended } from "../support/child.ts"
import { DEPLOY_TOOLS, hasDeployTools } from "../support/deploy-tools.ts"
import { PLAIN_ADMIN } from "../support/deployed.ts"
import { blocksOf, ROOT } from "../support/documents.ts"
import { serviceMonitorCheck } from "../support/prometheus-operator.ts"
import { hookline, temporaryFolder } from "../support/hookline.ts"

const CHART = join(ROOT, "deploy/helm/hookline")
/** Whose schemas the objects are validated against. */
const KUBERNETES = "1.34"

interface Mount {
  readonly name: string
  readonly mountPath: string
  readonly readOnly?: boolean
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts: readonly Mount[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly securityContext: object
  readonly env?: readonly object[]
}
interface PodSpec {
  readonly containers: readonly [Container]
  readonly volumes: readonly {
    readonly name: string
    readonly configMap?: { readonly name: string }
    readonly persistentVolumeClaim?: { readonly claimName: string }
    readonly secret?: {
      readonly secretName: string
      readonly defaultMode?: number
      readonly items?: readonly { key: string; path: string }[]
    }
  }[]
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: object
}
interface Rendered {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: { readonly [name: string]: string } }
  readonly data?: { readonly [name: string]: string }
  readonly spec: {
    readonly replicas?: number
    readonly selector: { readonly matchLabels: { readonly [name: string]: string } }
    readonly template: {
      readonly metadata: {
        readonly labels: object
        readonly annotations: { readonly [name: string]: string }
      }
      readonly spec: PodSpec
    }
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
    readonly endpoints: readonly { readonly port: string; readonly authorization: object }[]
    readonly policyTypes: readonly string[]
    readonly podSelector: object
    readonly ingress: readonly object[]
    readonly egress: readonly object[]
  }
}

interface Chart {
  /** What lint found; null: nothing. */
  readonly wrong: string | null
  readonly objects: readonly Rendered[]
  /** What an installation prints. */
  readonly notes: string
}

/** The chart with each of these values. */
async function charts(values: readonly object[]): Promise<readonly Chart[]> {
  const child = Bun.spawn(["python3", join(ROOT, "test/support/helm-chart.py"), CHART, KUBERNETES], {
    env: DEPLOY_TOOLS,
    stdin: new Blob([JSON.stringify(values)]),
    stdout: "pipe",
    stderr: "pipe",
  })
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  return JSON.parse(stdout) as Chart[]
}

async function render(values: object): Promise<(kind: string, name?: string) => Rendered> {
  const [{ wrong, objects }] = (await charts([values])) as [Chart]
  expect(wrong).toBeNull()
  return (kind, name) => {
    const found = objects.find((it) => it.kind === kind && (name === undefined || it.metadata.name === name))
    if (found === undefined) throw new Error(`no ${kind} among ${objects.map(({ kind }) => kind).join(", ")}`)
    return found
  }
}

/** Validates an object that a page shows. */
async function validate(shown: object): Promise<void> {
  const program =
    "import json, sys, kubernetes_validate as it; it.validate(json.load(sys.stdin), sys.argv[1], strict=True)"
  const stdin = Buffer.from(JSON.stringify(shown))
  const validated = await runToEnd(["python3", "-c", program, KUBERNETES], { env: DEPLOY_TOOLS, stdin })
  expect(validated).toEqual({ status: 0, stdout: "", stderr: "" })
}

/** Each combination of these choices. */
function product<T extends { readonly [name: string]: readonly unknown[] }>(
  choices: T,
): { readonly [K in keyof T]: T[K][number] }[] {
  let all: { readonly [name: string]: unknown }[] = [{}]
  for (const [name, values] of Object.entries(choices))
    all = all.flatMap((it) => values.map((value) => ({ ...it, [name]: value })))
  return all as { readonly [K in keyof T]: T[K][number] }[]
}

/** `hookline check` of what the pod's file system would have, in a folder, with a key of each Secret. */
async function checkMounted(
  find: (kind: string, name?: string) => Rendered,
  folder: string,
  secrets: { readonly [name: string]: string },
): Promise<Ended> {
  const { containers, volumes } = find("Deployment").spec.template.spec
  for (const { name, mountPath } of containers[0].volumeMounts) {
    // not the chart's
    if (name.startsWith("include-")) continue
    const { configMap, secret } = volumes.find((it) => it.name === name)!
    const files: { [name: string]: string } = { ...(configMap && find("ConfigMap", configMap.name).data) }
    if (secret?.items !== undefined) {
      const kept = find("Secret", secret.secretName).data!
      for (const { key, path } of secret.items) files[path] = atob(kept[key]!)
    } else if (secret !== undefined) files[secrets[secret.secretName]!] = "whsec_b2J2aW91c2x5LWZha2U="
    for (const [file, text] of Object.entries(files)) {
      const path = join(folder, mountPath, file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text.replaceAll("${file:/", `\${file:${folder}/`), { mode: 0o600 })
    }
  }
  return hookline(["check", "-c", join(folder, "etc/hookline/pipelines.conf")])
}

describe.skipIf(!(await hasDeployTools()))("the chart", () => {
  test("runs the image as its own user, on a read-only root, and lets it drain", async () => {
    const find = await render({ shutdown: { delaySeconds: 7, drainSeconds: 30 } })
    const { replicas, template } = find("Deployment").spec
    const [container] = template.spec.containers
    expect(replicas).toBe(3)
    expect(container.image).toBe(`hookline:${manifest.version}`)
    expect(container.args).toEqual(["run"])
    const dockerfile = await Bun.file(join(ROOT, "deploy/Dockerfile")).text()
    const [, uid] = /^USER (\d+):/m.exec(dockerfile)!
    expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: Number(uid) })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
    expect(find("ConfigMap").data!["pipelines.conf"]).toContain("shutdown_delay = 7s\ndrain_timeout = 30s\n")
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(7 + 30)
    const paths = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
      ({ httpGet: { path, port } }) => [path, port],
    )
    expect(paths).toEqual([
      ["/healthz", "admin"],
      ["/healthz", "admin"],
      ["/readyz", "admin"],
    ])
    const without = await render({ readiness: { exclude: "brokers" } })
    const probe = without("Deployment").spec.template.spec.containers[0].readinessProbe
    expect(probe.httpGet.path).toBe("/readyz?exclude=brokers")
  })

  test("mounts a configuration that Hookline takes, and the secrets that it names", async () => {
    const find = await render({
      settings: { log_level: "debug", max_in_flight_bytes: "128MiB" },
      secrets: ["payments"],
      configuration: "[connection:kafka]\nbootstrap_servers = kafka:9092\n",
      files: {
        "payments.conf": `[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = \${file:/run/secrets/payments/stripe}
[pipeline:payments:Validator]
schema = payment.json
[pipeline:payments:BrokerSink]
topic = payments
`,
        "payment.json": '{ "type": "object" }',
      },
    })
    using folder = temporaryFolder()
    const checked = await checkMounted(find, folder.path, { payments: "stripe" })
    expect(checked).toMatchObject({ status: 0, stderr: expect.stringMatching(PLAIN_ADMIN) })
    expect(checked.stdout).toContain(
      "payments: 0.0.0.0:8080/payments -> topic payments; verification: stripe",
    )
    expect(checked.stdout).toContain("admin: 0.0.0.0:9464")
  })

  test("includes the .conf files of further ConfigMaps and Secrets, each from a folder of its own", async () => {
    const pipeline = (id: string): string =>
      `[pipeline:${id}:WebHookSource]\npath = /${id}\n[pipeline:${id}:Validator]\nschema = event.json\n[pipeline:${id}:BrokerSink]\ntopic = ${id}\n`
    const values = {
      configuration: "[connection:kafka]\nbootstrap_servers = kafka:9092\n",
      include: [{ configMap: "payments" }, { secret: "payments" }],
    }
    const find = await render(values)
    const { containers, volumes } = find("Deployment").spec.template.spec
    const mounted = volumes.filter(({ name }) => name.startsWith("include-"))
    expect(mounted).toMatchObject([
      { configMap: { name: "payments" } },
      { secret: { secretName: "payments", defaultMode: 0o440 } },
    ])
    using folder = temporaryFolder()
    for (const [at, { name }] of mounted.entries()) {
      const { mountPath } = containers[0].volumeMounts.find((it) => it.name === name)!
      const path = join(folder.path, mountPath)
      mkdirSync(path, { recursive: true })
      writeFileSync(join(path, `${at}.conf`), pipeline(`p${at}`))
      writeFileSync(join(path, "event.json"), '{ "type": "object" }')
    }
    const checked = await checkMounted(find, folder.path, {})
    expect(checked.status).toBe(0)
    for (const id of ["p0", "p1"])
      expect(checked.stdout).toContain(`${id}: 0.0.0.0:8080/${id} -> topic ${id}`)
    const [{ wrong }] = (await charts([{ include: [{ configMap: "a", secret: "b" }] }])) as [Chart]
    expect(wrong).toContain("include")
  })

  test("its notes list the files of a pod, and how changes of them get there", async () => {
    const values = { include: [{ configMap: "payments" }], secrets: ["providers"], files: { "a.json": "{}" } }
    const [restarted, watched] = (await charts([values, { ...values, reload: "watch" }])) as [Chart, Chart]
    for (const line of [
      "/etc/hookline/pipelines.conf   [admin], [service] and what is included: ConfigMap hooks-hookline, with configuration.conf",
      "/etc/hookline/a.json   the same ConfigMap",
      "/etc/hookline.d/configmap-payments   ConfigMap payments, its *.conf",
      "/run/secrets/providers   Secret providers",
      "/run/hookline/admin-token   Secret hooks-hookline-admin, token",
      "/run/hookline-replicas/token   Secret hooks-hookline-replicas, token",
    ])
      expect(restarted.notes).toContain(`\n  ${line}\n`)
    expect(restarted.notes).toContain("exec deployment/hooks-hookline -- hookline status\n")
    expect(restarted.notes).toContain("kubectl -n integration rollout restart deployment/hooks-hookline")
    expect(watched.notes).not.toContain("rollout restart")
  })

  test("has several pods ask each other as replicas, with a token of their own, over TLS where there is a certificate", async () => {
    const many = await render({ networkPolicy: { egress: [{ ports: [{ port: 9092 }] }] } })
    expect(many("ConfigMap").data!["pipelines.conf"]).toContain(
      "replicas = dns:hooks-hookline-admin:9464\nreplicas_token = ${file:/run/hookline-replicas/token}\n",
    )
    const token = many("Secret", "hooks-hookline-replicas").data!["token"]!
    expect(atob(token)).toMatch(/^\w{40}$/)
    expect(token).not.toBe(many("Secret", "hooks-hookline-admin").data!["token"]!)
    const { podSelector, ingress, egress } = many("NetworkPolicy").spec
    const pods = [{ podSelector }]
    expect(ingress).toContainEqual({ ports: [{ port: "admin" }], from: pods })
    expect(egress).toEqual([{ ports: [{ port: "admin" }], to: pods }, { ports: [{ port: 9092 }] }])
    expect(many("Deployment").spec.template.spec.containers[0]).not.toHaveProperty("env")

    const tls = { tlsSecret: "admin-tls", replicasSecret: { name: "kept-elsewhere", key: "k" } }
    const other = { name: "TZ", value: "Europe/Prague" }
    const secured = await render({ replicas: 1, autoscaling: { enabled: true }, admin: tls, env: [other] })
    const { containers, volumes } = secured("Deployment").spec.template.spec
    expect(containers[0].env).toEqual([
      other,
      { name: "NODE_EXTRA_CA_CERTS", value: "/run/hookline-tls/ca.crt" },
    ])
    expect(volumes.find(({ name }) => name === "replicas-token")!.secret).toMatchObject({
      secretName: "kept-elsewhere",
      items: [{ key: "k", path: "token" }],
    })
    expect(() => secured("Secret", "hooks-hookline-replicas")).toThrow("no Secret")
    const own = { name: "NODE_EXTRA_CA_CERTS", value: "/run/secrets/ca/ca.crt" }
    const withOwn = await render({ admin: tls, env: [own] })
    expect(withOwn("Deployment").spec.template.spec.containers[0].env).toEqual([own])

    const one = await render({ replicas: 1 })
    expect(one("ConfigMap").data!["pipelines.conf"]).not.toContain("replicas")
    expect(one("NetworkPolicy").spec.ingress).toHaveLength(1)
    expect(() => one("Secret", "hooks-hookline-replicas")).toThrow("no Secret")
  })

  test("takes the values of docs/deploying.md", async () => {
    const { text } = blocksOf("docs/deploying.md").find(({ language }) => language === "yaml")!
    const find = await render(Bun.YAML.parse(text) as object)
    find("Ingress")
    expect(find("Deployment").spec.template.spec.containers[0].image).toMatch(
      /^registry\.example\.com\/hookline:/,
    )
    using folder = temporaryFolder()
    const checked = await checkMounted(find, folder.path, { providers: "stripe" })
    expect(checked).toMatchObject({ status: 0, stderr: expect.stringMatching(PLAIN_ADMIN) })
  })

  test("renders all of its objects", async () => {
    const find = await render({
      secrets: ["a", "b"],
      env: [{ name: "TZ", value: "Europe/Prague" }],
      admin: { tokenSecret: { name: "kept-elsewhere", key: "t" } },
      ingress: {
        enabled: true,
        className: "nginx",
        hosts: [{ host: "hooks.example.com", paths: ["/"] }],
        tls: [{ secretName: "tls", hosts: ["hooks.example.com"] }],
      },
      autoscaling: { enabled: true },
      serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
      networkPolicy: {
        webhooksFrom: [
          { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress-nginx" } } },
        ],
        adminFrom: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
        egress: [{ ports: [{ port: 9092 }] }],
      },
      nodeSelector: { "kubernetes.io/arch": "amd64" },
      tolerations: [{ key: "a", operator: "Exists" }],
      priorityClassName: "high",
    })
    for (const kind of ["Ingress", "HorizontalPodAutoscaler", "PodDisruptionBudget", "ServiceAccount"])
      find(kind)
    expect(find("Deployment").spec.replicas).toBeUndefined()
    expect(find("NetworkPolicy").spec.policyTypes).toEqual(["Ingress", "Egress"])
    const { selector, endpoints } = find("ServiceMonitor").spec
    expect(find("Service", "hooks-hookline-admin").metadata.labels).toMatchObject(selector.matchLabels)
    expect(find("Service", "hooks-hookline").metadata.labels).not.toMatchObject(selector.matchLabels)
    expect(endpoints[0]!.authorization).toEqual({ credentials: { name: "kept-elsewhere", key: "t" } })
    expect(() => find("Secret", "hooks-hookline-admin")).toThrow("no Secret")
  })

  test("with tlsSecret probes and scrapes the admin port by HTTPS, and with readKey scrapes it with read_token", async () => {
    const find = await render({
      admin: { tlsSecret: "admin-tls", tokenSecret: { readKey: "read" }, capture: "refused" },
      serviceMonitor: { enabled: true },
    })
    const { volumes, containers } = find("Deployment").spec.template.spec
    const [{ startupProbe, livenessProbe, readinessProbe, volumeMounts }] = containers
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe])
      expect(httpGet).toMatchObject({ port: "admin", scheme: "HTTPS" })
    expect(volumes).toContainEqual(
      expect.objectContaining({
        name: "admin-tls",
        secret: expect.objectContaining({ secretName: "admin-tls" }),
      }),
    )
    expect(volumeMounts).toContainEqual({ name: "admin-tls", mountPath: "/run/hookline-tls", readOnly: true })
    const text = find("ConfigMap").data!["pipelines.conf"]!
    expect(text).toContain("read_token = ${file:/run/hookline/admin-read-token}\n")
    expect(text).toContain("capture = refused\n")
    expect(text).toContain(
      "tls_certificate = /run/hookline-tls/tls.crt\ntls_key = /run/hookline-tls/tls.key\n",
    )
    const { token, read } = find("Secret").data!
    expect(read).not.toBe(token!)
    expect(find("ServiceMonitor").spec.endpoints[0]).toMatchObject({
      scheme: "https",
      authorization: { credentials: { key: "read" } },
      tlsConfig: {
        serverName: expect.stringMatching(/^hooks-hookline-admin\..+\.svc$/),
        ca: { secret: { key: "ca.crt" } },
      },
    })
  })

  test("has a ServiceMonitor that fits the Prometheus operator's CRD", async () => {
    const check = await serviceMonitorCheck()
    if (typeof check === "string") {
      if (process.env.CI) throw new Error(`with CI set this test may not be skipped: ${check}`)
      process.stderr.write(`\n*** THE SERVICEMONITOR IS NOT VALIDATED: ${check} ***\n\n`)
      return
    }
    const find = await render({
      admin: { tlsSecret: "admin-tls" },
      serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
    })
    const monitor = find("ServiceMonitor")
    check(monitor)
    expect(check.errors).toBeNull()
    // what it is worth: a field at the wrong place, and a value that the operator does not take
    const { spec } = monitor
    expect(check({ ...monitor, spec: { ...spec, path: "/metrics" } })).toBeFalse()
    const [endpoint] = spec.endpoints
    expect(
      check({ ...monitor, spec: { ...spec, endpoints: [{ ...endpoint, interval: "often" }] } }),
    ).toBeFalse()
  })

  test("gives each pod a disk where one is asked for", async () => {
    const find = await render({ replicas: 1, persistence: { enabled: true, storageClass: "fast" } })
    const { template, selector } = find("StatefulSet").spec
    expect(template.spec.containers[0].volumeMounts).toContainEqual({
      name: "data",
      mountPath: "/var/lib/hookline",
    })
    expect(template.metadata.labels).toMatchObject(selector.matchLabels)
  })

  test("restarts pods at a changed configuration, unless they watch it", async () => {
    const pod = async (values: object) => (await render(values))("Deployment").spec.template
    const checksum = async (values: object) =>
      (await pod(values)).metadata.annotations["checksum/configuration"]!
    const [before, same, after] = await Promise.all(
      [{}, {}, { settings: { log_level: "warn" } }].map(checksum),
    )
    expect(same!).toBe(before!)
    expect(after!).not.toBe(before!)
    const watching = { reload: "watch" }
    expect(await checksum(watching)).toBe(await checksum({ ...watching, settings: { log_level: "warn" } }))
    expect((await pod(watching)).spec.containers[0].args).toEqual(["run", "--watch"])
  })

  test.each([
    [{ replica: 3 }, "replica"],
    [{ settings: { drain_timeout: "1h" } }, "drain_timeout"],
    [{ files: { "pipelines.conf": "[service]" } }, "pipelines.conf"],
    [{ files: { "../a.conf": "[service]" } }, "../a.conf"],
    [{ reload: "never" }, "reload"],
  ])("refuses the values %j", async (values, named) => {
    const [{ wrong }] = (await charts([values])) as [Chart]
    expect(wrong).toContain(named)
  })

  test("refuses to scale pods in and out that have disks, and several pods with an embedded log, and takes every other combination", async () => {
    const KAFKA = "[connection:c]\nbootstrap_servers = kafka:9092\n"
    const LOG = "[connection:c]\n  directory = /var/lib/hookline/log\n"
    const sources = {
      kafka: { configuration: KAFKA },
      spool: { configuration: `${KAFKA}spool = /var/lib/hookline/spool.sqlite\n` },
      log: { configuration: LOG },
      "log in a file": { configuration: KAFKA, files: { "more.conf": LOG, "notes.txt": "directory = x" } },
      "no log": { configuration: `${KAFKA}# directory = x\n`, files: { "notes.txt": LOG } },
    }
    const cases = product({
      source: Object.keys(sources) as (keyof typeof sources)[],
      disk: [false, true],
      scales: [false, true],
      replicas: [0, 1, 2],
    })
    const values = cases.map(({ source, disk, scales, replicas }) => ({
      ...sources[source],
      persistence: { enabled: disk },
      autoscaling: { enabled: scales },
      replicas,
    }))
    for (const [at, { wrong }] of (await charts(values)).entries()) {
      const { source, disk, scales, replicas } = cases[at]!
      const hasLog = source.startsWith("log")
      const reasons = [
        ...(disk && scales ? ["scaling in removes pods and keeps their disks"] : []),
        ...(hasLog && scales ? ["false with an embedded log"] : []),
        ...(hasLog && replicas > 1 ? ["1 with an embedded log"] : []),
      ]
      if (reasons.length === 0) expect([cases[at], wrong]).toEqual([cases[at], null])
      for (const reason of reasons)
        expect([cases[at], wrong]).toEqual([cases[at], expect.stringContaining(reason)])
    }
  })

  test("renders every combination of its optional objects", async () => {
    const optional = {
      persistence: { enabled: true },
      ingress: { enabled: true, hosts: [{ host: "hooks.example.com" }] },
      serviceMonitor: { enabled: true },
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      admin: { tokenSecret: { name: "kept-elsewhere" } },
      serviceAccount: { name: "made-elsewhere" },
    }
    const changed = Object.entries(optional)
    const cases = Array.from({ length: 2 ** changed.length }, (_, bits) =>
      Object.fromEntries(changed.filter((_, at) => (bits & (2 ** at)) !== 0)),
    )
    for (const [at, { wrong }] of (await charts(cases)).entries())
      expect([cases[at], wrong]).toEqual([cases[at], null])
  })

  test("gives the disk of a pod that is gone the name and path by which docs/deploying.md drains it", async () => {
    const block = blocksOf("docs/deploying.md").find(({ text }) => text.includes("kind: Pod"))!
    const pod = Bun.YAML.parse(block.text) as { readonly metadata: object; readonly spec: PodSpec }
    const values = { secrets: ["providers"], persistence: { enabled: true } }
    const find = await render(values)
    const { template, volumeClaimTemplates } = find("StatefulSet").spec
    const [container] = pod.spec.containers
    expect(container.args.slice(0, 2)).toEqual(["spool", "drain"])
    const { volumeMounts: mounts } = template.spec.containers[0]
    for (const mount of container.volumeMounts) expect(mounts).toContainEqual(mount)
    expect(pod.spec.securityContext).toEqual(template.spec.securityContext)
    expect(container.securityContext).toEqual(template.spec.containers[0].securityContext)
    const claims = pod.spec.volumes.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? [])
    // the release of the docs is called hookline
    expect(claims).toEqual([`${volumeClaimTemplates[0]!.metadata.name}-hookline-2`])
    // else it would get webhooks
    expect(pod.metadata).not.toHaveProperty("labels")
    await validate(pod)
    const probed = blocksOf("docs/instances.md").find(({ language }) => language === "yaml")!
    const containers = [{ ...container, ...(Bun.YAML.parse(probed.text) as object) }]
    await validate({ ...pod, spec: { ...pod.spec, containers } })
  })
})
