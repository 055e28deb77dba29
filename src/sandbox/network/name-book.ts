import { getServers } from 'node:dns';
import { LruMap } from '@picket/lib/lru.ts';
import dnsPacket from 'dns-packet';

const maxAddresses = 5000;
const maxNames = 50;

/**
 * Records the names that a run has resolved, by the addresses that the host's own name servers returned. Policy rules
 * also match names, which a connection itself does not carry.
 */
export class NameBook {
  readonly #names = new LruMap<string, Set<string>>(maxAddresses);
  readonly #servers = new Set(getServers().map((server) => server.replace(/^\[|\].*$/g, '')));

  /** Whether responses from this address are trusted: a script could forge its own. */
  isServer(address: string, port: number): boolean {
    return port === 53 && this.#servers.has(address);
  }

  /** Records the names in a response. */
  read(answer: Buffer): void {
    let packet: dnsPacket.DecodedPacket;
    try {
      packet = dnsPacket.decode(answer);
    } catch {
      return; // not a response; left to the script
    }
    const name = packet.questions?.[0]?.name;
    if (name === undefined) return;
    for (const record of packet.answers ?? []) {
      if (record.type !== 'A' && record.type !== 'AAAA') continue;
      const names = this.#names.getOrMake(record.data, () => new Set());
      if (names.size < maxNames) names.add(name);
    }
  }

  /** Returns the names of an address, or the address itself. */
  namesOf(address: string): readonly string[] {
    const names = this.#names.get(address);
    return names ? [...names] : [address];
  }
}
