import type { Random } from "../support/random.ts"

/** No input is longer, in bytes. */
export const LONGEST = 2048

const NUMBERS = ["0", "-1", "1e400", "2147483648", "4294967296", "9007199254740993", "99999999999999999999"]
const TELLING = [
  0, 9, 10, 13, 32, 34, 37, 44, 45, 46, 47, 58, 59, 61, 91, 92, 93, 123, 125, 127, 128, 0xc3, 0xed, 255,
]

/** Changes an input at some places; `other` is one to take pieces from, `words` are texts to put in. */
export function mutate(
  bytes: Uint8Array,
  other: Uint8Array,
  words: readonly string[],
  random: Random,
): Uint8Array<ArrayBuffer> {
  let changed = Buffer.from(bytes)
  for (let left = 1 + random.below(1 + random.below(6)); left > 0; left--)
    changed = once(changed, other, words, random)
  return new Uint8Array(changed.subarray(0, LONGEST))
}

function once(
  bytes: Buffer,
  other: Uint8Array,
  words: readonly string[],
  random: Random,
): Buffer<ArrayBuffer> {
  const at = random.below(bytes.length + 1)
  const put = (length: number, by: Uint8Array): Buffer<ArrayBuffer> =>
    Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(at + length)])
  switch (random.below(9)) {
    case 0: {
      const flipped = Buffer.from(bytes)
      if (flipped.length > 0) flipped[random.below(flipped.length)]! ^= 1 << random.below(8)
      return flipped
    }
    case 1:
      return put(1, Buffer.of(random.pick(TELLING)))
    case 2:
      return put(0, Buffer.of(random.pick(TELLING)))
    case 3:
      return put(random.below(2), Buffer.from(random.pick(words.length === 0 ? NUMBERS : words)))
    case 4:
      return put(random.below(4), Buffer.from(random.pick(NUMBERS)))
    case 5:
      return put(1 + random.below(16), Buffer.alloc(0))
    case 6: {
      const from = random.below(bytes.length + 1)
      return put(0, bytes.subarray(from, from + 1 + random.below(32)))
    }
    case 7: {
      const from = random.below(other.length + 1)
      return put(random.below(8), other.subarray(from, from + 1 + random.below(64)))
    }
    default:
      return put(1, Buffer.of(random.below(256)))
  }
}
