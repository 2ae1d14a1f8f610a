/** The checksum of an API key, by which leak scanners recognize one (contract §4.1). */
import { base62 } from "../kernel/Secrets.ts"

const encoder = new TextEncoder()

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value
})

/** Returns the CRC-32 of ASCII text as six base62 characters, most significant first. */
export const checksum = (text: string): string => {
  let crc = 0xffffffff
  for (const byte of encoder.encode(text)) crc = (crcTable[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8)
  let rest = (crc ^ 0xffffffff) >>> 0
  let digits = ""
  for (let place = 0; place < 6; place++) {
    digits = base62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
