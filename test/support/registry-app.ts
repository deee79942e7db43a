import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { endingWithThisProcess, runToEnd, untilAnswers } from "./child.ts"
import { CACHE } from "./kafka-jars.ts"
import { keep, openLogFile } from "./kafka-node.ts"
import { freePort } from "./ports.ts"
import { hasTools } from "./tools.ts"

const VERSION = "3.0.9"
const ARTIFACT = `<groupId>io.apicurio</groupId><artifactId>apicurio-registry`

/** The parent of the application's POM is not on Maven Central; nothing but its name is needed. */
const PARENT = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  ${ARTIFACT}</artifactId><version>${VERSION}</version><packaging>pom</packaging>
</project>
`
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>registry</artifactId><version>1</version>
  <repositories><repository><id>parent</id><url>file://\${project.basedir}/parent</url></repository></repositories>
  <dependencies>
    <dependency>
      ${ARTIFACT}-app</artifactId><version>${VERSION}</version><type>tar.gz</type><classifier>all</classifier>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
`

/** Whether there is what an Apicurio Registry is fetched and run with. */
export const canStartRegistry = (): boolean => hasTools("java", "mvn", "tar")

/** A Schema Registry; disposing of it kills it. */
export interface TestRegistry extends AsyncDisposable {
  /** URL of Confluent's API. */
  readonly url: string
  /** Registers a version of a subject. @returns its id */
  readonly register: (subject: string, schema: object, references?: readonly object[]) => Promise<number>
  readonly stop: () => Promise<void>
}

/** Starts Apicurio Registry, which keeps its schemas in memory. From Maven the first time, 109 MB. */
export async function startRegistry(port?: number): Promise<TestRegistry> {
  const folder = await fetchedRegistry()
  const at = port ?? (await freePort())
  const java = Bun.spawn(
    endingWithThisProcess(
      "java",
      "-Xmx512m",
      "-Dquarkus.http.host=127.0.0.1",
      `-Dquarkus.http.port=${at}`,
      "-jar",
      join(folder, `apicurio-registry-app-${VERSION}-runner.jar`),
    ),
    { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  )
  const log = await openLogFile(`registry-${at}`)
  void keep(java.stdout, log)
  void keep(java.stderr, log)
  const url = `http://127.0.0.1:${at}/apis/ccompat/v7`
  const stop = async (): Promise<void> => {
    java.kill("SIGKILL")
    await java.exited
  }
  // nothing in its log says that it listens
  await untilAnswers(java, async () => (await fetch(`${url}/subjects`)).ok, `see ${log}`)
  return {
    url,
    stop,
    [Symbol.asyncDispose]: stop,
    async register(subject, schema, references = []) {
      const response = await fetch(`${url}/subjects/${subject}/versions`, {
        method: "POST",
        headers: { "Content-Type": "application/vnd.schemaregistry.v1+json" },
        body: JSON.stringify({ schemaType: "JSON", schema: JSON.stringify(schema), references }),
      })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${subject} was not registered: ${text}`)
      return (JSON.parse(text) as { id: number }).id
    },
  }
}

async function fetchedRegistry(): Promise<string> {
  const unpacked = join(CACHE, `registry-${VERSION}`)
  if (existsSync(unpacked)) return unpacked
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, "fetching-"))
  try {
    const parent = join(folder, "parent/io/apicurio/apicurio-registry", VERSION)
    await mkdir(parent, { recursive: true })
    await mkdir(join(folder, "unpacked"))
    await writeFile(join(parent, `apicurio-registry-${VERSION}.pom`), PARENT)
    await writeFile(join(folder, "pom.xml"), POM)
    const archive = `jars/apicurio-registry-app-${VERSION}-all.tar.gz`
    for (const command of [
      ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"],
      ["tar", "-xzf", archive, "-C", "unpacked"],
    ]) {
      const { status, stdout, stderr } = await runToEnd(command, { cwd: folder })
      if (status !== 0) throw new Error(`${command.join(" ")}: ${stdout}${stderr}`)
    }
    await rename(join(folder, "unpacked"), unpacked).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
    })
    return unpacked
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
