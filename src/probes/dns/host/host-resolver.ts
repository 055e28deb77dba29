import { hostname as hostnameOfSystem } from 'node:os';
import { type IpFamily, literalAddress, type ResolvedAddress } from '../../address.ts';
import { type LookupControls, type Resolver, systemResolver } from '../../resolver.ts';
import type { DnsServer } from '../server.ts';
import { isForSystem, parseNameServiceSwitch } from './name-service-switch.ts';
import { type LookupRefusal, requireAllowed, StubResolver } from './stub-resolver.ts';
import { WatchedFile } from './watched-file.ts';

/** Files that configure name resolution of a host. */
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
 * Resolves names as this host does, without libuv's threads if possible: our own resolver handles /etc/hosts and DNS;
 * the system resolves names that other modules of nsswitch.conf may know (see name-service-switch.ts). Outside Linux
 * these files are not the whole configuration, and the system resolves every name.
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

  /** The name servers of this host, in query order. */
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
