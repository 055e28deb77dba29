/** `host:port`, with brackets around an IPv6 address. */
export function hostAndPort(hostname: string, port: number): string {
  return hostname.includes(':') ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
