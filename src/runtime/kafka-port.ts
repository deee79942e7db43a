import type { PortOptions } from "../kafka-listener/port.ts"
import { usersOf } from "../kafka-listener/security/credentials.ts"
import type { Connection } from "../config/sections/connection.ts"
import { readCertificate, readPrivateKey } from "../config/sections/pem-files.ts"

/**
 * Reads what the listener for Kafka clients needs beside its address.
 *
 * @throws OptionError `config` of kafka_tls_certificate or kafka_tls_key
 */
export function kafkaPortOf({
  kafka_advertised: advertised,
  kafka_users: users,
  kafka_groups: groups,
  kafka_tls_certificate: certificateFile,
  kafka_tls_key: keyFile,
}: Extract<Connection, { kind: "embedded" }>["values"]): Omit<PortOptions, "listen"> {
  const known = users === undefined ? undefined : usersOf(users, groups)
  if (certificateFile === undefined || keyFile === undefined)
    return { advertised, users: known, tls: undefined }
  const [cert, certificate] = readCertificate("kafka_tls_certificate", certificateFile)
  const key = readPrivateKey("kafka_tls_key", keyFile, { certificate, of: "kafka_tls_certificate" })
  return { advertised, users: known, tls: { cert, key } }
}
