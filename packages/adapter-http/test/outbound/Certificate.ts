/** Certificates for servers of tests: Node makes keys and signatures, but no certificates. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"

const der = (tag: number, ...contents: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(contents)
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

const sequence = (...contents: ReadonlyArray<Uint8Array>) => der(0x30, ...contents)
const identifier = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const text = (tag: number, value: string) => der(tag, Buffer.from(value))
const pem = (label: string, content: Buffer) =>
  `-----BEGIN ${label}-----\n${
    content.toString("base64").replace(/(.{64})/g, "$1\n").trimEnd()
  }\n-----END ${label}-----\n`

const common_name = identifier("550403")
const subject_alternative_name = identifier("551d11")
const basic_constraints = identifier("551d13")
const ecdsa_with_sha256 = sequence(identifier("2a8648ce3d040302"))

/** Makes a key and a certificate that it signs itself, for one host, valid until the year given. */
export const selfSigned = (host: string, until = 2049) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
  const name = sequence(der(0x31, sequence(common_name, text(0x0c, host))))
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsa_with_sha256,
    name,
    sequence(text(0x17, "200101000000Z"), text(0x17, `${String(until % 100).padStart(2, "0")}0101000000Z`)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      sequence(
        sequence(subject_alternative_name, der(0x04, sequence(text(0x82, host)))),
        sequence(basic_constraints, der(0x04, sequence(der(0x01, Buffer.from([0xff])))))
      )
    )
  )
  const signature = sign("sha256", certificate, privateKey)
  return {
    cert: pem("CERTIFICATE", sequence(certificate, ecdsa_with_sha256, der(0x03, Buffer.from([0]), signature))),
    key: privateKey.export({ type: "pkcs8", format: "pem" })
  }
}
