import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostResolverFiles } from '../../../src/probes/dns/host/host-resolver.ts';

/** The files that configure a host's name resolution, in a folder of a test. */
export interface HostFiles extends HostResolverFiles, Disposable {
  write(texts: { readonly resolvConf?: string; readonly hosts?: string; readonly nsswitch?: string }): void;
}

export function createHostFiles(
  resolvConf: string,
  hosts = '127.0.0.1 localhost\n',
  nsswitch = 'hosts: files dns\n',
): HostFiles {
  const folder = mkdtempSync(join(tmpdir(), 'picket-resolver-'));
  const paths = {
    resolvConfPath: join(folder, 'resolv.conf'),
    hostsPath: join(folder, 'hosts'),
    nameServiceSwitchPath: join(folder, 'nsswitch.conf'),
  };
  const write: HostFiles['write'] = (texts) => {
    if (texts.resolvConf !== undefined) writeFileSync(paths.resolvConfPath, texts.resolvConf);
    if (texts.hosts !== undefined) writeFileSync(paths.hostsPath, texts.hosts);
    if (texts.nsswitch !== undefined) writeFileSync(paths.nameServiceSwitchPath, texts.nsswitch);
  };
  write({ resolvConf, hosts, nsswitch });
  return { ...paths, write, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
