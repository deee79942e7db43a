import { expect, test } from "bun:test"
import { connectionOf } from "../../../test/support/listener-client.ts"
import { Guesses } from "../../addresses/guesses.ts"
import { ClientAuthentication } from "../../kafka-listener/security/authentication.ts"
import { usersOf } from "../../kafka-listener/security/credentials.ts"

const PASSWORD = "obviously-fake"
const users = usersOf([`billing:${PASSWORD}`])

const framed = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
/** SaslHandshake, version 0, after which messages come without the protocol's headers. */
const HANDSHAKE = framed(Buffer.from("0011 0000 00000001 ffff 0005 504c41494e".replaceAll(" ", ""), "hex"))

/** Connects and presents a password by PLAIN. @returns whether it is accepted, or why the client is disconnected */
function login(guesses: Guesses, address: string, password: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const authentication = new ClientAuthentication(users, true)
    const socket = {
      write(bytes: Uint8Array) {
        if (authentication.state === "done") resolve("accepted")
        return bytes.length
      },
      pause() {},
      resume() {},
      terminate() {},
    }
    const connection = connectionOf(socket, {
      clientAddress: address,
      authentication,
      guesses,
      failed: reject,
      refused: resolve,
    })
    connection.received(HANDSHAKE)
    connection.received(framed(Buffer.from(`\0billing\0${password}`)))
  })
}

test("after ten wrong passwords of an address, no more than a hundred a second are checked, and a right one is accepted", async () => {
  const guesses = new Guesses()
  const guess = (): Promise<string> => login(guesses, "192.0.2.1", "guess")
  const wrong = "its user or password is wrong"
  expect(new Set(await Promise.all(Array.from({ length: 10 }, guess)))).toEqual(new Set([wrong]))

  const flood = Array.from({ length: 300 }, guess)
  const others = login(guesses, "192.0.2.2", PASSWORD)
  const refused = Promise.race(flood)
  expect(await refused).toBe("too many wrong users or passwords came from its address")
  expect(await others).toBe("accepted")
  expect((await Promise.all(flood)).filter((it) => it === wrong)).toHaveLength(100)
  expect(await login(guesses, "192.0.2.1", PASSWORD)).toBe("accepted")
})
