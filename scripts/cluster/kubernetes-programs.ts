import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRun } from '../images/command.ts';

/** What is built: the one that takes longest first, because the others share most of it. */
const programs = ['kubelet', 'kube-controller-manager', 'kube-apiserver', 'kube-scheduler', 'kubectl'];
const goPackages = ['golang-1.19-go', 'golang-1.19-src', 'etcd-server'];
export const kubernetesVersion = '1.20.2';

/** Debian's source packages, with lists of our own: the machine's stay as they are. */
const debianSources = `Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`;

/**
 * Kubernetes 1.20.2, the newest that Debian has the whole source of, built with Debian's Go 1.19, and Debian's etcd and the container that
 * holds a pod's namespaces. Nothing is installed; the sources, Go and its cache are removed again.
 *
 * @returns the folder with the programs.
 */
export async function provideKubernetes(cacheFolder: string): Promise<string> {
  const done = join(cacheFolder, `kubernetes-${kubernetesVersion}`);
  if (existsSync(done)) return done;
  const work = join(cacheFolder, 'build');
  await rm(work, { recursive: true, force: true });
  const bin = join(work, 'bin');
  await mkdir(bin, { recursive: true });
  await step("Debian's Go and etcd", () => unpackPackages(work));
  const source = join(work, 'gopath', 'src', 'k8s.io', 'kubernetes');
  await step("Debian's source of Kubernetes", () => unpackSource(work, source));
  const go = new GoBuild(work, source);
  await step('generated: definitions of the API', () => generateDefinitions(go, source, work));
  for (const [index, name] of programs.entries()) {
    const place = `${index + 1} of ${programs.length}`;
    await step(`${name} (${place})`, () => go.build(`./cmd/${name}`, join(bin, name)));
  }
  await step('pause', async () => {
    const file = join(source, 'build/pause/linux/pause.c');
    await mustRun('gcc', ['-Os', '-static', '-s', '-DVERSION=trial', '-o', join(bin, 'pause'), file]);
  });
  await copyFile(join(work, 'tools/usr/bin/etcd'), join(bin, 'etcd'));
  await rename(bin, done);
  // Go makes what it downloads or unpacks unwritable, which does not keep root from removing it.
  await rm(work, { recursive: true, force: true });
  return done;
}

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const seconds = () => Math.round((performance.now() - startedMs) / 1000);
  const isTerminal = process.stdout.isTTY;
  const timer = isTerminal
    ? setInterval(() => process.stdout.write(`\r  ${what} … ${seconds()} s`), 1000)
    : undefined;
  if (!isTerminal) console.log(`  ${what} …`);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    console.log(`${isTerminal ? '\r' : ''}  ${what}: ${seconds()} s`);
  }
}

async function unpackPackages(work: string): Promise<void> {
  const debs = join(work, 'debs');
  await mkdir(debs);
  await mustRun('apt-get', ['download', ...goPackages], { cwd: debs });
  for (const deb of await readdir(debs)) await mustRun('dpkg', ['-x', join(debs, deb), join(work, 'tools')]);
  await rm(debs, { recursive: true });
}

async function unpackSource(work: string, source: string): Promise<void> {
  const apt = join(work, 'apt');
  await mkdir(join(apt, 'lists', 'partial'), { recursive: true });
  await mkdir(join(apt, 'sources'), { recursive: true });
  await writeFile(join(apt, 'sources', 'debian.sources'), debianSources);
  const settings = [
    `Dir::State::lists=${join(apt, 'lists')}`,
    'Dir::Etc::sourcelist=/dev/null',
    `Dir::Etc::sourceparts=${join(apt, 'sources')}`,
    'Dir::Cache::pkgcache=',
    'Dir::Cache::srcpkgcache=',
  ].flatMap((setting) => ['-o', setting]);
  await mustRun('apt-get', [...settings, 'update']);
  // apt checks what it downloads against its signed lists.
  await mustRun('apt-get', [...settings, 'source', '--download-only', 'kubernetes'], { cwd: apt });
  const description = (await readdir(apt)).find((name) => name.endsWith('.dsc')) ?? '';
  await mkdir(join(source, '..'), { recursive: true });
  await mustRun('dpkg-source', ['--no-check', '-x', join(apt, description), source]);
  await rm(apt, { recursive: true });
}

/** Go without modules, as Debian builds Kubernetes: everything it needs is in the source. */
class GoBuild {
  readonly #source: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #go: string;

  constructor(work: string, source: string) {
    const goRoot = join(work, 'tools', 'usr', 'lib', 'go-1.19');
    this.#source = source;
    this.#go = join(goRoot, 'bin', 'go');
    this.#environment = {
      GO111MODULE: 'off',
      GOROOT: goRoot,
      GOPATH: join(work, 'gopath'),
      GOCACHE: join(work, 'go-cache'),
      GOFLAGS: '',
      CGO_ENABLED: '0',
    };
  }

  /** The machine may have other things to do: this can wait. */
  async build(packagePath: string, output: string): Promise<void> {
    const version = 'k8s.io/kubernetes/vendor/k8s.io/component-base/version';
    const [major, minor] = kubernetesVersion.split('.');
    const facts = { gitVersion: `v${kubernetesVersion}`, gitMajor: major, gitMinor: minor };
    const flags = Object.entries(facts).map(([name, value]) => `-X ${version}.${name}=${value}`);
    await this.run([
      this.#go,
      'build',
      '-ldflags',
      ['-s', '-w', ...flags].join(' '),
      '-o',
      output,
      packagePath,
    ]);
  }

  async run(command: readonly string[]): Promise<void> {
    await mustRun('nice', ['-n', '19', ...command], { cwd: this.#source, environment: this.#environment });
  }
}

/** What Debian's source lacks: the code that describes the API to its clients, from which they know fields that do not exist. */
async function generateDefinitions(go: GoBuild, source: string, work: string): Promise<void> {
  const generator = join(work, 'openapi-gen');
  await go.build('./vendor/k8s.io/kube-openapi/cmd/openapi-gen', generator);
  const staging = (await readdir(join(source, 'staging/src/k8s.io')))
    .filter((name) => name !== 'code-generator' && name !== 'sample-apiserver')
    .map((name) => join('vendor/k8s.io', name));
  const folders: string[] = [];
  for (const folder of ['cmd', 'pkg', 'plugin', ...staging]) folders.push(...(await tagged(source, folder)));
  await go.run([
    ...[generator, '--logtostderr', '-O', 'zz_generated.openapi'],
    ...['-i', folders.map((folder) => `k8s.io/kubernetes/${folder}`).join(',')],
    ...['-p', 'k8s.io/kubernetes/pkg/generated/openapi'],
    ...['-h', 'vendor/k8s.io/code-generator/hack/boilerplate.go.txt'],
    ...['-r', join(work, 'violations')],
  ]);
  await rm(generator);
}

/** Folders below one that ask to be described. */
async function tagged(source: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(join(source, folder), { withFileTypes: true });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await tagged(source, path)));
    else if (entry.name.endsWith('.go') && !found.includes(folder)) {
      if ((await readFile(join(source, path), 'utf8')).includes('+k8s:openapi-gen=')) found.push(folder);
    }
  }
  return found;
}
