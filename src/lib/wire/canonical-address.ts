/** Returns the canonical form of an address: IPv6 in the short form of RFC 5952. */
export function canonicalAddress(address: string): string {
  if (!address.includes(':')) return address;
  // The URL parser compresses IPv6 addresses as in RFC 5952.
  return URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? address;
}

/** Returns the address of a target as reported in responses: in the short form, without a zone. */
export function answeringAddress(address: string): string {
  return canonicalAddress(address.split('%', 1)[0] ?? address);
}
