import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Certificates } from "./kafka-certificates.ts"

/** Keys of a section of the configuration file and their values; undefined: the key is left out. */
export interface Lines {
  readonly [key: string]: string | undefined
}

/** Another value for an option: the one before, the one after, and other keys that it needs beside it. */
export type OptionChange = readonly [before: string | undefined, after: string | undefined, beside?: Lines]

/** Another value for each option, by the titles of the sections. */
export interface OptionChanges {
  readonly [title: string]: { readonly [key: string]: OptionChange }
}

const HMAC = { provider: "hmac", header: "X-Signature", secret: "obviously-fake" }
const TIMED = { ...HMAC, payload: "{timestamp}.{body}" }
const IDENTIFIED = { ...HMAC, payload: "{id}.{body}" }
const JWT = { provider: "jwt", secret: "obviously-fake-secret-of-a-jwt-32" }
const PAYPAL = { provider: "paypal", webhook_id: "1JE4291016473214C" }
const ONLINE = { ...PAYPAL, verify_online: "true", client_id: "a", client_secret: "obviously-fake" }
const KAFKA = { bootstrap_servers: "127.0.0.1:1" }
const SASL = {
  ...KAFKA,
  security_protocol: "sasl_plaintext",
  sasl_mechanism: "PLAIN",
  sasl_username: "a",
  sasl_password: "obviously-fake",
}
const OAUTH = {
  ...KAFKA,
  security_protocol: "sasl_plaintext",
  sasl_mechanism: "OAUTHBEARER",
  sasl_oauth_token_endpoint: "https://127.0.0.1:1/token",
  sasl_oauth_client_id: "a",
  sasl_oauth_client_secret: "obviously-fake",
}
const IAM = { ...KAFKA, security_protocol: "sasl_plaintext", sasl_mechanism: "AWS_MSK_IAM" }
const TRACED = { endpoint: "http://127.0.0.1:1" }
const POSTGRES = { postgres: "postgres://127.0.0.1:1/a" }
const REGISTERED = { value_format: "json-schema", registry_url: "http://127.0.0.1:1" }
const TEMPLATE = { topic: "a-{json:/a}" }

/** A key pair and JSON Web Keys that nobody signs with. */
const PUBLIC_KEYS = ["11".repeat(32), "22".repeat(32)] as const

/** @param ports two that are free */
export function optionChanges(
  folder: string,
  { server, client, ca, otherCa }: Certificates,
  ports: readonly [number, number],
): OptionChanges {
  const tls = { tls_certificate: server.certificate, tls_key: server.key }
  /** A folder whose list of addresses is new, so that none is fetched. */
  const listed = (name: string): string => {
    const directory = join(folder, `addresses-${name}`)
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, "github.json"), `{"networks":{"192.0.2.0/24":${Date.now()}}}`)
    return directory
  }
  const ssl = { ...KAFKA, security_protocol: "ssl" }
  const clientSsl = { ...ssl, ssl_certificate_location: client.certificate, ssl_key_location: client.key }
  const { sasl_oauth_client_secret: _, ...asserting } = OAUTH
  const kafkaListening = { directory: "log", kafka_listen: `127.0.0.1:${ports[1]}` }
  const kafkaTls = {
    ...kafkaListening,
    kafka_tls_certificate: server.certificate,
    kafka_tls_key: server.key,
  }
  const copy = (file: string): string => `${file}.copy`
  return {
    "Kafka connection": {
      bootstrap_servers: ["127.0.0.1:1", "127.0.0.1:2"],
      security_protocol: ["plaintext", "ssl", KAFKA],
      sasl_mechanism: ["PLAIN", "SCRAM-SHA-256", SASL],
      sasl_username: ["a", "b", SASL],
      sasl_password: ["obviously-fake", "obviously-fake-2", SASL],
      sasl_oauth_token_endpoint: ["https://127.0.0.1:1/a", "https://127.0.0.1:1/b", OAUTH],
      sasl_oauth_client_id: ["a", "b", OAUTH],
      sasl_oauth_client_secret: ["obviously-fake", "obviously-fake-2", OAUTH],
      sasl_oauth_assertion_key: [client.key, copy(client.key), asserting],
      sasl_oauth_assertion_key_id: [undefined, "1", { ...asserting, sasl_oauth_assertion_key: client.key }],
      sasl_oauth_scope: [undefined, "a", OAUTH],
      sasl_oauth_extensions: [undefined, "a=b", OAUTH],
      sasl_oauth_ca_location: [ca, otherCa, OAUTH],
      sasl_aws_region: ["eu-west-1", "eu-west-2", IAM],
      ssl_ca_location: [ca, otherCa, ssl],
      ssl_certificate_location: [client.certificate, copy(client.certificate), clientSsl],
      ssl_key_location: [client.key, copy(client.key), clientSsl],
      compression_type: ["none", "gzip", KAFKA],
      max_request_bytes: [undefined, "64KiB", KAFKA],
      connections_max_idle: [undefined, "1m", KAFKA],
      client_id: ["a", "b", KAFKA],
      delivery_timeout: ["5s", "1s", KAFKA],
      spool: ["off", "spool-1.sqlite", KAFKA],
      spool_max_bytes: ["1KiB", "1MiB", { ...KAFKA, spool: "spool-2.sqlite" }],
    },
    "Embedded connection": {
      directory: ["log", "log-2"],
      retention: ["forever", "1s", { directory: "log-3" }],
      retention_bytes: ["forever", "1", { directory: "log-4" }],
      partitions: ["1", "2", { directory: "log-5" }],
      kafka_listen: ["off", `127.0.0.1:${ports[0]}`, { directory: "log" }],
      kafka_users: [undefined, "a:obviously-fake", kafkaListening],
      kafka_groups: ["a=a-*", "a=b-*", { ...kafkaListening, kafka_users: "a:obviously-fake" }],
      kafka_tls_certificate: [server.certificate, copy(server.certificate), kafkaTls],
      kafka_tls_key: [server.key, copy(server.key), kafkaTls],
      kafka_advertised: [undefined, "kafka.example:9092", kafkaListening],
      delivery_timeout: ["5s", "1s", { directory: "log" }],
    },
    "PostgreSQL connection": {
      postgres: ["postgres://127.0.0.1:1/a", "postgres://127.0.0.1:1/b"],
      postgres_ca: [ca, otherCa, POSTGRES],
      schema: ["a", "b", POSTGRES],
      partitions: ["1", "2", POSTGRES],
      retention: ["forever", "1h", POSTGRES],
      delivery_timeout: ["5s", "1s", POSTGRES],
    },
    WebHookSource: {
      port: [`${ports[0]}`, `${ports[1]}`],
      path: ["/a", "/b"],
      host: ["127.0.0.1", "127.0.0.2"],
      max_body_bytes: [undefined, "1KiB"],
      delivery_timeout: [undefined, "1s"],
      response_status: ["200", "202"],
      response_body: ["a", "b"],
      response_content_type: ["text/plain", "text/html"],
      probe: [undefined, "204"],
      content_types: [undefined, "application/json"],
      rate_limit: [undefined, "100"],
      rate_burst: ["1", "2", { rate_limit: "100" }],
      expect_every: [undefined, "1h"],
      unverified_rate_limit: [undefined, "5"],
      allow: ["127.0.0.1", "127.0.0.0/8"],
      allow_directory: [listed("a"), listed("b"), { allow: "127.0.0.1, provider:github" }],
      allow_mode: ["enforce", "observe", { allow: "127.0.0.1" }],
      trusted_proxies: [undefined, "127.0.0.1"],
      public_url: [undefined, "https://hooks.example.com"],
      tls_certificate: [server.certificate, copy(server.certificate), tls],
      tls_key: [server.key, copy(server.key), tls],
      tls_client_ca: [ca, otherCa, tls],
    },
    Verifier: {
      provider: ["hmac", "token", { header: "X-Signature", secret: "obviously-fake" }],
      mode: ["enforce", "observe", HMAC],
      secret: ["obviously-fake", "obviously-fake-2", HMAC],
      secret_file: [join(folder, "secret"), join(folder, "secret.copy"), { provider: "asana" }],
      secret_count: ["1", "2", { provider: "asana", secret_file: join(folder, "secret") }],
      verify_token: ["a", "b", { provider: "meta", secret: "obviously-fake" }],
      tolerance: ["1m", "2m", { provider: "stripe", secret: "whsec_obviously-fake" }],
      header: ["X-A", "X-B", HMAC],
      algorithm: ["sha256", "sha512", HMAC],
      encoding: ["hex", "base64", HMAC],
      prefix: ["a=", "b=", HMAC],
      payload: ["{body}", "{method}.{body}", HMAC],
      timestamp_header: ["X-A", "X-B", TIMED],
      id_header: ["X-A", "X-B", IDENTIFIED],
      query: ["a", "b", { provider: "token", secret: "obviously-fake" }],
      username: ["a", "b", { provider: "basic", password: "obviously-fake" }],
      password: ["obviously-fake", "obviously-fake-2", { provider: "basic", username: "a" }],
      issuer: ["a", "b", JWT],
      audience: ["a", "b", JWT],
      jwks_url: ["https://a.example/jwks", "https://b.example/jwks", { provider: "jwt" }],
      public_key: [...PUBLIC_KEYS, { provider: "ed25519", header: "X-Signature" }],
      email: ["a@example.com", "b@example.com", { provider: "gcp-pubsub", audience: "a" }],
      topic_arn: [
        "arn:aws:sns:eu-west-1:123456789012:a",
        "arn:aws:sns:eu-west-1:123456789012:b",
        { provider: "aws-sns" },
      ],
      webhook_id: ["1JE4291016473214C", "2JE4291016473214C", PAYPAL],
      verify_online: ["false", undefined, PAYPAL],
      api: ["live", "sandbox", ONLINE],
      client_id: ["a", "b", ONLINE],
      client_secret: ["obviously-fake", "obviously-fake-2", ONLINE],
      min_version: ["3", "2", { provider: "hubspot", secret: "obviously-fake" }],
      require_exp: ["true", "false", JWT],
      confirm: ["false", "true", { provider: "aws-sns", topic_arn: "arn:aws:sns:eu-west-1:123456789012:a" }],
    },
    Decoder: {
      format: ["auto", "form"],
      unwrap: [undefined, "payload"],
      json_fields: ["a", "b"],
      charset: ["utf-8", "latin1"],
      lists: ["wrap", "split"],
      max_list_items: ["1", "2"],
    },
    Validator: {
      on_invalid: ["reject", "drop"],
      schema: [join(folder, "schema.json"), join(folder, "schema.json.copy")],
    },
    Enricher: { value: ["enriched", "received"] },
    Filter: {
      when: ["json:/a", "json:/b", { keep: "x" }],
      keep: ["x", "y", { when: "json:/a" }],
      drop: ["x", "y", { when: "json:/a" }],
    },
    Router: {
      by: ["json:/a", "json:/b", { routes: "x = y" }],
      routes: ["x = y", "x = z", { by: "json:/a" }],
      topic: ["a-{json:/a}", "b-{json:/a}", { topics: "*" }],
      topics: ["a*", "b*", TEMPLATE],
      max_topics: ["1", "2", { ...TEMPLATE, topics: "*" }],
      unsigned: ["false", "true", { by: "json:/a", routes: "x = y" }],
    },
    Deduplicator: {
      key: ["json:/id", "json:/other", { store: "memory" }],
      window: ["1h", "2h", { key: "json:/id", store: "memory" }],
      store: ["memory", "keys", { key: "json:/id" }],
      store_ca: [ca, otherCa, { key: "json:/id", store: "rediss://127.0.0.1:1" }],
    },
    BrokerSink: {
      topic: ["a", "b"],
      connection: ["main", "other"],
      key: ["json:/id", "path"],
      headers: ["a=path", "b=path"],
      cloudevents: ["off", "binary"],
      cloudevents_id: ["json:/id", "json:/n", { cloudevents: "binary" }],
      cloudevents_source: ["/a", "/b", { cloudevents: "binary" }],
      cloudevents_type: ["a", "b", { cloudevents: "binary" }],
      cloudevents_time: ["json:/at", "json:/t", { cloudevents: "binary" }],
      trace_headers: ["off", "on"],
      value_format: ["json", "json-schema", { registry_url: REGISTERED.registry_url }],
      registry_url: ["http://127.0.0.1:1/a", "http://127.0.0.1:1/b", REGISTERED],
      registry_username: ["a", "b", { ...REGISTERED, registry_password: "obviously-fake" }],
      registry_password: ["obviously-fake", "obviously-fake-2", { ...REGISTERED, registry_username: "a" }],
      registry_ca_location: [ca, otherCa, { ...REGISTERED, registry_url: "https://127.0.0.1:1" }],
      registry_refresh: ["1m", "2m", REGISTERED],
      dead_letter_topic: [undefined, "letters"],
    },
    admin: {
      listen: ["127.0.0.1:0", `127.0.0.1:${ports[0]}`],
      token: [undefined, "obviously-fake"],
      read_token: [undefined, "obviously-fake-2", { token: "obviously-fake" }],
      tls_certificate: [server.certificate, copy(server.certificate), tls],
      tls_key: [server.key, copy(server.key), tls],
      audit_topic: [undefined, "other/audit"],
      replicas: [undefined, "127.0.0.1:9", { replicas_token: "obviously-fake-3" }],
      replicas_token: ["obviously-fake-3", "obviously-fake-4"],
      replay_urls: [undefined, "http://127.0.0.1:9/hook"],
      hosts: [undefined, "admin.example"],
      capture: ["off", "all"],
      capture_max_requests: ["16", "8"],
      capture_max_bytes: ["1MiB", "64KiB"],
      metrics_detail: ["auto", "none"],
    },
    traces: {
      endpoint: ["off", "http://127.0.0.1:1"],
      headers: ["a=b", "a=c", TRACED],
      parent: ["continue", "link", TRACED],
      sample: ["1", "0.5", TRACED],
      max_traces_per_second: ["1", "2", TRACED],
      service_name: ["a", "b", TRACED],
      resource: ["a=b", "a=c", TRACED],
    },
    service: {
      reuse_port: ["off", "on"],
      max_in_flight_bytes: ["20", "10"],
      max_connections: [undefined, "32"],
      shutdown_delay: ["0s", "200ms"],
      drain_timeout: ["1h", "100ms"],
      body_timeout: ["30s", "100ms"],
      redis: [undefined, "redis://127.0.0.1:1"],
      redis_ca: [ca, otherCa, { redis: "rediss://127.0.0.1:1" }],
      log_level: ["silent", "fatal"],
      log_format: ["json", "pretty"],
    },
  }
}
