import { promises as dns, type LookupAddress, lookup } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { errorCodeOf } from '@picket/lib/errors.ts';

/** Six seconds in total, of the ten that a request has. */
const patience = { timeout: 2000, tries: 2 };
/** The name server reports that the name or its record does not exist. */
const absentCodes: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Looks up names of receivers, which users choose. The system's resolver blocks a thread of the process while a name
 * server is silent, and there are two such threads: a few unresponsive names would delay the lookups of all accounts.
 * So this class queries the hosts file and the name servers itself, and the system only for names unknown to them, such
 * as short ones that it completes.
 */
export class ReceiverNames {
  readonly #resolver = new dns.Resolver(patience);
  readonly #hostsPath: string;

  /** @param servers replace the system's. */
  constructor(servers?: readonly string[], hostsPath = '/etc/hosts') {
    if (servers) this.#resolver.setServers(servers);
    this.#hostsPath = hostsPath;
  }

  /** @throws the error of the name server or the system. */
  async addressesOf(hostname: string): Promise<LookupAddress[]> {
    const listed = await this.#listed(hostname.toLowerCase());
    if (listed.length > 0) return listed;
    const asked = await Promise.allSettled([
      this.#resolver.resolve4(hostname),
      this.#resolver.resolve6(hostname),
    ]);
    const found = asked.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found.map((address) => ({ address, family: isIP(address) }));
    const failed = asked.filter((answer) => answer.status === 'rejected').map(({ reason }) => reason);
    const uncertain = failed.find((reason) => !absentCodes.has(errorCodeOf(reason) ?? ''));
    if (uncertain) throw uncertain;
    return await systemAddresses(hostname);
  }

  async #listed(hostname: string): Promise<LookupAddress[]> {
    const text = await readFile(this.#hostsPath, 'utf8').catch(() => '');
    return text.split('\n').flatMap((line) => {
      const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
      const family = isIP(address);
      const isIt = family !== 0 && names.some((name) => name.toLowerCase() === hostname);
      return isIt ? [{ address, family }] : [];
    });
  }
}

function systemAddresses(hostname: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}
