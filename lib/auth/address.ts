import { isIPv6 } from 'node:net'

/** How many of the eight groups of an IPv6 address name the network of one caller, the /64. */
const NETWORK_GROUPS = 4

/**
 * Some balancers, Azure's Application Gateway among them, put the port behind the address in
 * X-Forwarded-For.
 */
export function withoutPort(address: string): string {
  const { ip4, ip6 } =
    /^(?:(?<ip4>[\d.]+)|\[(?<ip6>[^\]]+)\])(?::\d+)?$/.exec(address)?.groups ?? {}
  return ip4 ?? ip6 ?? address
}

/**
 * Whose limit an event stream counts towards: the user's, or the address's where the user is not
 * known.
 */
export function streamOwner({
  identity: user,
  ip
}: {
  identity?: { uid: string } | undefined
  ip: string | undefined
}): string {
  return user ? `user ${user.uid}` : `address ${networkOf(withoutPort(String(ip)))}`
}

/**
 * Keeps an IPv4 address. Cuts an IPv6 address to its /64 network, since one caller usually has all
 * of that network.
 */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const ipv4Match = /^::ffff:([\d.]+)$/i.exec(address)
  if (ipv4Match) return ipv4Match[1]!
  const [front, back] = address.split('::').map((part) => (part === '' ? [] : part.split(':'))) as [
    string[],
    string[]?
  ]
  const groups = back
    ? [...front, ...Array<string>(8 - front.length - back.length).fill('0'), ...back]
    : front
  return groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')
}
