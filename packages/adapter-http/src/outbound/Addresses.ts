/** The public addresses, by the special-purpose registries of IANA. */
import { Option } from "effect"
import { BlockList, isIP } from "node:net"

const cidr = /^([0-9A-Fa-f.:]+)\/([0-9]{1,3})$/

/** Returns whether an address is in one of the networks, or none when one of them is malformed. */
export const networks = (written: ReadonlyArray<string>): Option.Option<(address: string) => boolean> => {
  const list = new BlockList()
  for (const network of written) {
    const [, address = "", prefix = ""] = cidr.exec(network) ?? []
    const version = isIP(address)
    if (version === 0 || Number(prefix) > (version === 4 ? 32 : 128)) return Option.none()
    list.addSubnet(address, Number(prefix), version === 4 ? "ipv4" : "ipv6")
  }
  return Option.some((address) => {
    const version = isIP(address)
    return version !== 0 && !address.includes("%") && list.check(address, version === 4 ? "ipv4" : "ipv6")
  })
}

const known = (...written: ReadonlyArray<string>) => Option.getOrThrow(networks(written))

const special4 = known(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  // A public address by its registration, but on every host of one cloud the metadata and name service of that cloud.
  "168.63.129.16/32",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
)

const global6 = known("2000::/3")

/** Exceptions inside the global block: protocol assignments and Teredo, documentation, 6to4, AS112. */
const special6 = known("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")

/**
 * Returns whether an address is public on the Internet.
 *
 * For IPv6 this is a list of allowed networks, not of blocked ones: every form of
 * an IPv4 address inside an IPv6 one is outside of `2000::/3`, or in one of its
 * exceptions.
 */
export const isPublic = (address: string): boolean => {
  switch (isIP(address)) {
    case 4:
      return !special4(address)
    case 6:
      return global6(address) && !special6(address)
    default:
      return false
  }
}
