/** One end of a connection: a host or an address, and a port. */
export interface Peer {
  readonly name: string;
  readonly port: number;
}

/** `shop.test:443`, `[2001:db8::1]:443` */
export function peerText({ name, port }: Peer): string {
  return name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`;
}
