import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { packFiles } from './suite-bundle.ts';

/** A package as a registry offers it. */
export interface Published {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly integrity: string;
  /** As lockfiles say it, without which npm runs no script. */
  readonly hasInstallScript?: true;
}

/** A registry of npm packages on this machine, which counts what is fetched. */
export interface PackageRegistry {
  readonly url: string;
  /** Downloads of packages so far. */
  readonly downloadCount: number;
  /** Required of every request from now on, such as `Bearer secret`. */
  authorization: string | undefined;
  publish(manifest: PackageManifest, files?: Readonly<Record<string, string>>): Promise<Published>;
  close(): Promise<void>;
}

type PackageManifest = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly version: string;
};

export async function startPackageRegistry(): Promise<PackageRegistry> {
  const archives = new Map<string, Buffer>();
  const documents = new Map<string, { versions: Record<string, unknown>; newest: string }>();
  let downloadCount = 0;
  let authorization: string | undefined;
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/');
    if (authorization !== undefined && request.headers.authorization !== authorization) {
      response.writeHead(401).end();
      return;
    }
    const archive = archives.get(path);
    const document = documents.get(path.slice(1));
    if (archive) {
      downloadCount += 1;
      response.end(archive);
    } else if (document) {
      const { versions, newest } = document;
      const name = path.slice(1);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ name, 'dist-tags': { latest: newest }, versions }));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    get downloadCount() {
      return downloadCount;
    },
    get authorization() {
      return authorization;
    },
    set authorization(value) {
      authorization = value;
    },
    publish: async (manifest, files = {}) => {
      const { name, version } = manifest;
      const content = { 'package.json': JSON.stringify(manifest), ...files };
      const entries = Object.entries(content).map(([path, text]) => [`package/${path}`, text] as const);
      const archive = await packFiles(Object.fromEntries(entries));
      const path = `/${name}/-/${name.split('/').at(-1)}-${version}.tgz`;
      const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
      archives.set(path, archive);
      const published: Published = {
        name,
        version,
        url: new URL(path, url).href,
        integrity,
        ...('scripts' in manifest && { hasInstallScript: true }),
      };
      const { versions } = documents.get(name) ?? { versions: {} };
      const dist = { tarball: published.url, integrity };
      documents.set(name, { versions: { ...versions, [version]: { ...manifest, dist } }, newest: version });
      return published;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The lockfile of npm for a project that needs these packages. */
export function npmLockfile(
  manifest: { readonly name: string; readonly workspaces?: readonly string[] },
  packages: readonly Published[],
  more: Readonly<Record<string, unknown>> = {},
): string {
  const entries = packages.map(({ name, url, ...entry }) => [
    `node_modules/${name}`,
    { resolved: url, ...entry },
  ]);
  return JSON.stringify({
    name: manifest.name,
    lockfileVersion: 3,
    requires: true,
    packages: { '': manifest, ...Object.fromEntries(entries), ...more },
  });
}

/** The lockfile of pnpm 9 or newer for a project that needs exactly these packages. */
export function pnpmLockfile(packages: readonly Published[]): string {
  const lines = (of: (one: Published) => readonly string[]) => packages.flatMap(of);
  return [
    "lockfileVersion: '9.0'",
    'settings:',
    '  autoInstallPeers: true',
    '  excludeLinksFromLockfile: false',
    'importers:',
    '  .:',
    '    dependencies:',
    ...lines(({ name, version }) => [
      `      ${name}:`,
      `        specifier: ${version}`,
      `        version: ${version}`,
    ]),
    'packages:',
    ...lines(({ name, version, integrity }) => [
      `  ${name}@${version}:`,
      `    resolution: {integrity: ${integrity}}`,
    ]),
    'snapshots:',
    ...lines(({ name, version }) => [`  ${name}@${version}: {}`]),
    '',
  ].join('\n');
}
