import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** The release that tests start: the newest, unless HOOKLINE_TEST_KAFKA_VERSION names another. */
export const VERSION = process.env.HOOKLINE_TEST_KAFKA_VERSION ?? "4.1.0"
/** Releases before 3 keep their cluster's state in ZooKeeper; later ones have KRaft for it. */
export const USES_ZOOKEEPER = Number.parseInt(VERSION) < 3
/** Releases before 4 log by the API of log4j 1. */
const LOG4J_1 = Number.parseInt(VERSION) < 4 ? log4j("log4j-1.2-api") : ""
/** Beside the installed packages, so that every run of this checkout shares it and `npm ci` clears it. */
export const CACHE = join(import.meta.dir, "../../node_modules/.cache/hookline-kafka")

/** @param artifact of org.apache.kafka */
const pom = (artifact: string): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>${artifact}</artifactId><version>${VERSION}</version></dependency>
    ${log4j("log4j-slf4j-impl")}${LOG4J_1}
  </dependencies>
</project>
`

function log4j(artifact: string): string {
  return `<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>${artifact}</artifactId><version>2.24.3</version></dependency>`
}

type Found = { readonly classPath: string } | { readonly missing: string }

/** The class path of Apache Kafka's broker: that, or why there is none. */
export const kafkaClassPath = (): Promise<Found> => classPath("kafka_2.13", VERSION)

/** The class path of Kafka's command line tools, which are clients. */
export const kafkaToolsClassPath = (): Promise<Found> => classPath("kafka-tools", `tools-${VERSION}`)

/** From Maven the first time. Two runs at once each fetch; the first to end is kept. */
async function classPath(artifact: string, name: string): Promise<Found> {
  for (const tool of ["java", "mvn"]) {
    if (Bun.which(tool) === null) return { missing: `${tool} is not installed` }
  }
  const jars = join(CACHE, name)
  if (!existsSync(jars)) {
    await mkdir(CACHE, { recursive: true })
    const folder = await mkdtemp(join(CACHE, "fetching-"))
    try {
      await writeFile(join(folder, "pom.xml"), pom(artifact))
      const maven = Bun.spawn(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"], {
        cwd: folder,
        stdout: "pipe",
        stderr: "inherit",
      })
      const said = await maven.stdout.text()
      if ((await maven.exited) !== 0)
        return { missing: `Maven could not fetch Kafka ${VERSION}: ${said.trim()}` }
      await rename(join(folder, "jars"), jars).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
      })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  return { classPath: join(jars, "*") }
}
