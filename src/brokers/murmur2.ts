/**
 * The hash that places a key on a partition, as the Java client computes it: `Utils.murmur2` of Apache Kafka.
 * https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/utils/Utils.java
 *
 * @returns a signed 32-bit number
 */
export function murmur2(key: Uint8Array): number {
  const length = key.length
  const tail = length & ~3
  let hash = 0x9747b28c ^ length
  for (let at = 0; at < tail; at += 4) {
    let word = key[at]! | (key[at + 1]! << 8) | (key[at + 2]! << 16) | (key[at + 3]! << 24)
    word = Math.imul(word, MIX)
    word ^= word >>> 24
    hash = Math.imul(hash, MIX) ^ Math.imul(word, MIX)
  }
  const rest = length - tail
  if (rest > 2) hash ^= key[tail + 2]! << 16
  if (rest > 1) hash ^= key[tail + 1]! << 8
  if (rest > 0) hash = Math.imul(hash ^ key[tail]!, MIX)
  hash ^= hash >>> 13
  hash = Math.imul(hash, MIX)
  return hash ^ (hash >>> 15)
}

const MIX = 0x5bd1e995

/** The partition of a key, as the Java client's default partitioner chooses it. */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions
}
