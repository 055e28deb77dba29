import { hostname as hostnameOfSystem } from 'node:os';
import { type IpFamily, literalAddress, type ResolvedAddress } from '../../address.ts';
import { type LookupControls, type Resolver, systemResolver } from '../../resolver.ts';
import type { DnsServer } from '../server.ts';
import { isForSystem, parseNameServiceSwitch } from './name-service-switch.ts';
import { type LookupRefusal, requireAllowed, StubResolver } from './stub-resolver.ts';
import { WatchedFile } from './watched-file.ts';

/** Where a host says how names are looked up. */
export interface HostResolverFiles {
  readonly resolvConfPath: string;
  readonly hostsPath: string;
  readonly nameServiceSwitchPath: string;
}

export const systemFiles: HostResolverFiles = {
  resolvConfPath: '/etc/resolv.conf',
  hostsPath: '/etc/hosts',
  nameServiceSwitchPath: '/etc/nsswitch.conf',
};

/**
 * Looks names up as this host does, without its threads where that is possible: names of /etc/hosts and DNS
 * by our own resolver, names that other modules of nsswitch.conf may know by the system's (see
 * name-service-switch.ts). Outside Linux these files do not tell the whole story, and everything goes to the
 * system.
 */
export class HostResolver implements Resolver {
  readonly #stub: StubResolver;
  readonly #nameServiceSwitch: WatchedFile<ReturnType<typeof parseNameServiceSwitch>>;
  readonly #isLinux: boolean;
  readonly #lookupRefusal: LookupRefusal;

  constructor(
    files: HostResolverFiles = systemFiles,
    platform: NodeJS.Platform = process.platform,
    lookupRefusal: LookupRefusal = () => undefined,
  ) {
    this.#lookupRefusal = lookupRefusal;
    this.#stub = new StubResolver(files, lookupRefusal);
    this.#nameServiceSwitch = new WatchedFile(files.nameServiceSwitchPath, parseNameServiceSwitch);
    this.#isLinux = platform === 'linux';
  }

  /** The name servers of this host, in the order they are asked. */
  nameServers(): readonly DnsServer[] {
    return this.#stub.nameServers();
  }

  async resolve(
    hostname: string,
    family: IpFamily | 'any',
    controls?: LookupControls,
  ): Promise<readonly ResolvedAddress[]> {
    const isSystems =
      !this.#isLinux || isForSystem(hostname, hostnameOfSystem, this.#nameServiceSwitch.read());
    if (!isSystems) return await this.#stub.resolve(hostname, family, controls);
    if (!literalAddress(hostname)) requireAllowed(this.#lookupRefusal, hostname);
    return await systemResolver.resolve(hostname, family, controls);
  }
}
