import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import type { Ended } from "../support/child.ts"
import { DEPLOY_TOOLS, hasDeployTools } from "../support/deploy-tools.ts"
import { blocksOf, ROOT } from "../support/documents.ts"
import { serviceMonitorCheck } from "../support/prometheus-operator.ts"
import { hookline, temporaryFolder } from "../support/hookline.ts"

setDefaultTimeout(30_000)

const CHART = join(ROOT, "deploy/helm/hookline")
/** Whose schemas the objects are validated against. */
const KUBERNETES = "1.34"

interface Mount {
  readonly name: string
  readonly mountPath: string
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
}
interface PodSpec {
  readonly containers: readonly [Container]
  readonly volumes: readonly {
    readonly name: string
    readonly configMap?: { readonly name: string }
    readonly secret?: {
      readonly secretName: string
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
    readonly endpoints: readonly { readonly port: string; readonly authorization: object }[]
    readonly policyTypes: readonly string[]
  }
}

async function chart(
  values: object,
): Promise<{ status: number; stderr: string; objects: readonly Rendered[] }> {
  const child = Bun.spawn(["python3", join(ROOT, "test/support/helm-chart.py"), CHART, KUBERNETES], {
    env: DEPLOY_TOOLS,
    stdin: new Blob([JSON.stringify(values)]),
    stdout: "pipe",
    stderr: "pipe",
  })
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { status, stderr, objects: status === 0 ? (JSON.parse(stdout) as Rendered[]) : [] }
}

async function render(values: object): Promise<(kind: string, name?: string) => Rendered> {
  const { status, stderr, objects } = await chart(values)
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  return (kind, name) => {
    const found = objects.find((it) => it.kind === kind && (name === undefined || it.metadata.name === name))
    if (found === undefined) throw new Error(`no ${kind} among ${objects.map(({ kind }) => kind).join(", ")}`)
    return found
  }
}

/** `hookline check` of what the pod's file system would have, in a folder, with a key of each Secret. */
async function checkMounted(
  find: (kind: string, name?: string) => Rendered,
  folder: string,
  secrets: { readonly [name: string]: string },
): Promise<Ended> {
  const { containers, volumes } = find("Deployment").spec.template.spec
  for (const { name, mountPath } of containers[0].volumeMounts) {
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
    expect(checked).toMatchObject({ status: 0, stderr: "" })
    expect(checked.stdout).toContain(
      "payments: 0.0.0.0:8080/payments -> topic payments; verification: stripe",
    )
    expect(checked.stdout).toContain("admin: 0.0.0.0:9464")
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
    expect(checked).toMatchObject({ status: 0, stderr: "" })
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
    expect(() => find("Secret")).toThrow("no Secret")
  })

  test("has a ServiceMonitor that fits the Prometheus operator's CRD", async () => {
    const check = await serviceMonitorCheck()
    if (typeof check === "string") {
      if (process.env.CI) throw new Error(`with CI set this test may not be skipped: ${check}`)
      process.stderr.write(`\n*** THE SERVICEMONITOR IS NOT VALIDATED: ${check} ***\n\n`)
      return
    }
    const find = await render({ serviceMonitor: { enabled: true, labels: { release: "prometheus" } } })
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
    const { status, stderr } = await chart(values)
    expect(status).toBe(1)
    expect(stderr).toContain(named)
  })
})
