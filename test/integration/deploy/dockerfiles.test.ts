import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of a Dockerfile by stage, with continued lines joined. */
function stagesOf(file: string): Instruction[][] {
  const text = read(file).replaceAll(/^\s*#.*\n/gm, '');
  const instructions = text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...rest] = line.trim().split(/\s+/);
      return { name, text: rest.join(' ') };
    });
  const stages: Instruction[][] = [[]];
  for (const instruction of instructions) {
    if (instruction.name === 'FROM') stages.push([]);
    stages.at(-1)?.push(instruction);
  }
  return stages;
}

/** A file and all project files that it loads. */
function importsOf(file: string, found = new Set<string>()): string[] {
  if (found.has(file)) return [];
  found.add(file);
  for (const [, path = ''] of read(file).matchAll(
    /^(?:import(?! type)|\} from|export)[^'\n]*'(\.[^']+)';$/gm,
  ))
    importsOf(join(dirname(file), path), found);
  return [...found];
}

const locked = Object.entries(
  (
    JSON.parse(read('package-lock.json')) as {
      readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
    }
  ).packages,
)
  .filter(([path]) => path.includes('node_modules/') && !path.includes('node_modules/@picket/'))
  .map(([path, { dev = false }]) => ({ name: path.replace(/^.*node_modules\//, ''), isForDevelopment: dev }));
const product = new Set(locked.filter(({ isForDevelopment }) => !isForDevelopment).map(({ name }) => name));
const developmentOnly = new Set(locked.map(({ name }) => name).filter((name) => !product.has(name)));

const allOf = (stages: readonly (readonly Instruction[])[], name: string) =>
  stages.flat().filter((instruction) => instruction.name === name);
const jsonForm = (text = '') => JSON.parse(text) as string[];

describe.each(['Dockerfile', 'Dockerfile.uptime'])('%s', (file) => {
  const stages = stagesOf(file);
  const last = stages.at(-1) ?? [];
  const lastOf = (name: string) => last.filter((instruction) => instruction.name === name).at(-1)?.text;

  it('is built from a base of one exact version, the same for both', () => {
    const [base] = allOf(stages, 'ARG');
    expect(base?.text).toMatch(/^BASE_IMAGE=node:24\.\d+\.\d+-bookworm-slim$/);
    expect(read('Dockerfile')).toContain(base?.text);
    for (const { text } of allOf(stages, 'FROM')) {
      expect(text).toMatch(
        /^((--platform=\$\{BUILDPLATFORM:-linux\/amd64\} )?\$\{BASE_IMAGE\}|scratch)( AS \w+)?$/,
      );
    }
  });

  it('runs as a user with a numeric id, without a shell', () => {
    expect(lastOf('USER')).toMatch(/^[1-9]\d{3,}:[1-9]\d{3,}$/);
    expect(jsonForm(lastOf('ENTRYPOINT'))[0]).toBe('/usr/bin/tini');
    expect(jsonForm(lastOf('CMD'))).toEqual(['agent']);
    const check = /^.*? CMD (.*)$/.exec(lastOf('HEALTHCHECK') ?? '')?.[1];
    expect(jsonForm(check).join(' ')).toMatch(/node .*health-probe\.js$/);
    const words = [lastOf('ENTRYPOINT'), check].join(' ');
    expect(words).not.toMatch(/\bsh\b|bash/);
  });

  it('installs from the lockfile, runs no script of a package, and leaves no package lists', () => {
    const runs = allOf(stages, 'RUN').map(({ text }) => text);
    for (const run of runs) {
      if (run.includes('npm ci')) expect(run).toContain('--ignore-scripts');
      expect(run).not.toMatch(/npm (install|i)\b(?! --package-lock-only)|curl|wget|sudo|chown -R/);
      if (!run.includes('apt-get install')) continue;
      expect(run).toContain('--no-install-recommends');
      expect(run).toMatch(/apt-get update .*rm -rf \/var\/lib\/apt\/lists\/\*/);
    }
    expect(allOf(stages, 'ADD')).toEqual([]);
    expect(read(file)).not.toMatch(/^# syntax=/m);
  });

  it('finds everything it copies in the context, and no more is sent', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const copied = allOf(stages, 'COPY')
      .filter(({ text }) => !text.includes('--from='))
      .flatMap(({ text }) => text.split(' ').slice(0, -1));
    for (const source of copied) {
      expect(execFileSync('git', ['ls-files', source], { cwd: root, encoding: 'utf8' })).not.toBe('');
      expect(
        allowed.some((one) => source === one || source.startsWith(`${one}/`)),
        source,
      ).toBe(true);
    }
    expect(read('.dockerignore')).toMatch(/^\*$/m);
  });

  it('copies the imports of its scripts before it runs them', () => {
    for (const stage of stages) {
      for (const [index, { name, text }] of stage.entries()) {
        const [, script] = /\bnode (scripts\/[\w./-]+)/.exec(text) ?? [];
        if (name !== 'RUN' || script === undefined) continue;
        const copied = stage
          .slice(0, index)
          .filter((instruction) => instruction.name === 'COPY' && !instruction.text.includes('--from='))
          .flatMap((instruction) => instruction.text.split(' ').slice(0, -1));
        const missing = importsOf(script).filter(
          (file) => !copied.some((source) => file === source || file.startsWith(`${source}/`)),
        );
        expect(missing, script).toEqual([]);
      }
    }
  });

  it('has descriptive labels', () => {
    const labels = lastOf('LABEL') ?? '';
    for (const name of ['title', 'description', 'licenses', 'version', 'revision', 'created']) {
      expect(labels).toContain(`org.opencontainers.image.${name}=`);
    }
  });

  it('lists every package that it installs in its bill of materials, and no development dependency', () => {
    const command = /npm pkg delete devDependencies.* > sbom\.cdx\.json/.exec(
      stages.flat().find(({ text }) => text.includes('npm sbom'))?.text ?? '',
    )?.[0];
    const folder = mkdtempSync(join(tmpdir(), 'picket-sbom-'));
    try {
      const manifests = globSync(['package.json', 'package-lock.json', '.npmrc', 'src/**/package.json'], {
        cwd: root,
      });
      for (const manifest of manifests) cpSync(join(root, manifest), join(folder, manifest));
      execFileSync('sh', ['-ec', String(command)], { cwd: folder, stdio: 'pipe' });
      const { components } = JSON.parse(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8')) as {
        readonly components: readonly { readonly name: string }[];
      };
      const listed = components.map(({ name }) => name);
      expect(listed.filter((name) => developmentOnly.has(name))).toEqual([]);
      if (file === 'Dockerfile') expect(listed).toEqual(expect.arrayContaining([...product]));
      else expect(listed).toEqual(expect.arrayContaining(['zod', 'undici', 'koffi']));
      const ofTheService = ['fastify', 'kysely'].filter((name) => listed.includes(name));
      expect(ofTheService.length).toBe(file === 'Dockerfile' ? 2 : 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the seccomp profile', () => {
  const profile = JSON.parse(read('deploy/seccomp/picket.json')) as {
    readonly defaultAction: string;
    readonly syscalls: readonly {
      readonly names: readonly string[];
      readonly action: string;
      readonly args?: readonly unknown[];
    }[];
  };
  const allowed = new Set(
    profile.syscalls
      .filter(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args === undefined)
      .flatMap(({ names }) => names),
  );

  it('allows the system calls of sandboxes', () => {
    expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO');
    for (const name of ['clone', 'clone3', 'unshare', 'setns', 'mount', 'umount2', 'chroot', 'seccomp'])
      expect(allowed).toContain(name);
  });

  it('allows nothing that only the host uses', () => {
    const closed = [
      ...['bpf', 'perf_event_open', 'userfaultfd', 'io_uring_setup', 'keyctl', 'add_key', 'request_key'],
      ...['init_module', 'finit_module', 'delete_module', 'kexec_load', 'reboot', 'swapon', 'pivot_root'],
      ...[
        'ptrace',
        'process_vm_readv',
        'process_vm_writev',
        'open_by_handle_at',
        'acct',
        'settimeofday',
        'syslog',
      ],
      ...['socket', 'personality'],
    ];
    expect(closed.filter((name) => allowed.has(name))).toEqual([]);
  });
});
