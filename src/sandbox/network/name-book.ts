import { getServers } from 'node:dns';
import { LruMap } from '@picket/lib/lru.ts';
import dnsPacket from 'dns-packet';

const maxAddresses = 5000;
const maxNames = 50;

/**
 * Which names a run has asked for, by the addresses that the host's own name servers gave. A connection is
 * judged by its name, too, and a connection itself has none.
 */
export class NameBook {
  readonly #names = new LruMap<string, Set<string>>(maxAddresses);
  readonly #servers = new Set(getServers().map((server) => server.replace(/^\[|\].*$/g, '')));

  /** Whether answers from there are believed: a script could make up its own. */
  isServer(address: string, port: number): boolean {
    return port === 53 && this.#servers.has(address);
  }

  /** Learns from an answer. */
  read(answer: Buffer): void {
    let packet: dnsPacket.DecodedPacket;
    try {
      packet = dnsPacket.decode(answer);
    } catch {
      return; // not an answer; the script sees that itself
    }
    const name = packet.questions?.[0]?.name;
    if (name === undefined) return;
    for (const record of packet.answers ?? []) {
      if (record.type !== 'A' && record.type !== 'AAAA') continue;
      const names = this.#names.getOrMake(record.data, () => new Set());
      if (names.size < maxNames) names.add(name);
    }
  }

  /** The names of an address, or the address itself. */
  namesOf(address: string): readonly string[] {
    const names = this.#names.get(address);
    return names ? [...names] : [address];
  }
}
