/** The one way to write an address: IPv6 in the short form of RFC 5952. */
export function canonicalAddress(address: string): string {
  if (!address.includes(':')) return address;
  // The URL parser compresses IPv6 addresses as RFC 5952 says.
  return URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? address;
}

/** The address of a target as answers have it: without a zone, in the short form. */
export function answeringAddress(address: string): string {
  return canonicalAddress(address.split('%', 1)[0] ?? address);
}
