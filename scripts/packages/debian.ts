import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { mustRun } from '../images/command.ts';
import { type Architecture, setModes } from './program.ts';

const source = join(import.meta.dirname, '../../deploy/debian');
const debianNames: Readonly<Record<Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Where files of `deploy/debian` go. The other files there are scripts of dpkg. */
const places: Readonly<Record<string, string>> = {
  'picket-agent.service': 'lib/systemd/system/picket-agent.service',
  'picket-agent.sysusers': 'usr/lib/sysusers.d/picket-agent.conf',
  'picket-agent.sysctl': 'usr/lib/sysctl.d/60-picket-agent.conf',
  'agent.env': 'etc/picket/agent.env',
  picket: 'usr/bin/picket',
};
const scripts = ['preinst', 'postinst', 'prerm', 'postrm'];

export interface PackageOptions {
  readonly program: string;
  readonly architecture: Architecture;
  readonly version: string;
  /** Where the package goes. */
  readonly folder: string;
  /** A folder for intermediate files. */
  readonly work: string;
  readonly madeAtSeconds: number;
}

/** Builds `picket-agent_VERSION_ARCHITECTURE.deb`; resolves with its name. */
export async function buildDebianPackage(
  options: PackageOptions & { readonly compression: 'xz' | 'gzip' },
): Promise<string> {
  const { architecture, work, folder } = options;
  const tree = join(work, 'debian');
  place(options.program, join(tree, 'usr/lib/picket'));
  for (const [name, path] of Object.entries(places)) place(join(source, name), join(tree, path));
  const documents = join(tree, 'usr/share/doc/picket-agent');
  place(join(source, 'README'), join(documents, 'README'));
  place(join(options.program, 'LICENSE'), join(documents, 'copyright'));
  for (const name of scripts) place(join(source, name), join(tree, 'DEBIAN', name));
  // Before a release comes its candidate: Debian sorts a tilde first.
  const version = options.version.replace('-', '~');
  const control = [
    'Package: picket-agent',
    `Version: ${version}`,
    `Architecture: ${debianNames[architecture]}`,
    'Maintainer: Picket',
    `Installed-Size: ${Math.ceil(bytesBelow(tree) / 1024)}`,
    // As Node 24 asks.
    'Depends: libc6 (>= 2.28), libstdc++6 (>= 8), passwd, ca-certificates',
    'Section: net',
    'Priority: optional',
    'Description: synthetic monitoring inside your own network: the agent',
    ' It runs checks of a private location (URL, API, DNS, domain, TCP, UDP, SQL,',
    ' SSL, gRPC, WebSocket, ICMP, traceroute, NTP), and reports their results to',
    ' the service.',
    ' The package brings its own Node.',
  ];
  writeFileSync(join(tree, 'DEBIAN/control'), `${control.join('\n')}\n`);
  writeFileSync(join(tree, 'DEBIAN/conffiles'), '/etc/picket/agent.env\n');
  setModes(tree);
  // It has the key of the location.
  chmodSync(join(tree, 'etc/picket/agent.env'), 0o600);
  const name = `picket-agent_${version}_${debianNames[architecture]}.deb`;
  await mustRun(
    'dpkg-deb',
    ['--build', '--root-owner-group', `-Z${options.compression}`, tree, join(folder, name)],
    { environment: { SOURCE_DATE_EPOCH: String(options.madeAtSeconds) } },
  );
  return name;
}

function place(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

function bytesBelow(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += statSync(join(entry.parentPath, entry.name)).size;
  }
  return sum;
}
