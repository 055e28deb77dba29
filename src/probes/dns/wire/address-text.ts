/**
 * The sixteen bytes of an IPv6 address as text (RFC 5952): the longest run of zeros is left out, and an address that
 * carries an IPv4 address shows it in dotted form, as `inet_ntop` does.
 */
export function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index));
  const isZeroUntil = (count: number) => groups.slice(0, count).every((group) => group === 0);
  const dotted = () => [...bytes.subarray(12, 16)].join('.');
  if (isZeroUntil(5) && groups[5] === 0xffff) return `::ffff:${dotted()}`;
  if (isZeroUntil(6) && groups[6] !== 0) return `::${dotted()}`;
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]/`).hostname.slice(1, -1);
}
