import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { fromContainer, isLoopback, serviceAddress } from '../../../src/console/locations/address.ts';
import { versionAdvice } from '../../../src/console/locations/agents.ts';
import { startCommands } from '../../../src/console/locations/commands.ts';
import { packageVersion } from '../../../src/lib/version.ts';
import { expectAccepted, expectFitting, type KubernetesObject } from '../deploy/agreement.ts';
import { typeErrorsOf } from '../deploy/object-types.ts';

const key = 'pl_0123456789abcdef0123456789abcdef';
const addresses = [
  { url: 'https://picket.example.com', isLoopback: false },
  { url: 'http://127.0.0.1:8080', isLoopback: true },
] as const;

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly Readonly<Record<string, unknown>>[] };
    };
  };
}

const stepsOf = (id: string, service: (typeof addresses)[number]) =>
  startCommands({ key, service, name: 'office-1' }).find((one) => one.id === id)?.steps ?? [];
/** The settings in the options of docker run. */
const settingsOf = (text: string) =>
  Object.fromEntries([...text.matchAll(/-e ([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]));

describe.each(addresses)('commands for $url', (service) => {
  it('are shell that parses, with the key, the name and the address', () => {
    for (const { id, steps } of startCommands({ key, service, name: 'office-1' })) {
      const all = steps.map(({ text }) => text).join('\n');
      expect(all, id).toContain(key);
      expect(all, id).toContain(service.url);
      expect(all, id).toContain('office-1');
      for (const { text } of steps.filter(({ file }) => file === undefined)) {
        const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
        expect(status, `${id}: ${stderr}`).toBe(0);
      }
    }
  });

  it('give Docker settings that the agent accepts, and the network it needs', () => {
    const runs = stepsOf('docker', service).filter(({ text }) => text.startsWith('docker run'));
    expect(runs).toHaveLength(service.isLoopback ? 3 : 2);
    for (const { text } of runs) {
      expectAccepted('agent', settingsOf(text));
      const isOnHost = text.includes('--network host');
      expect(isOnHost).toBe(isLoopback(new URL(settingsOf(text).SERVICE_URL ?? '').hostname));
      expect(text).toMatch(new RegExp(`picket(-uptime)?:${packageVersion()}$`));
    }
    if (service.isLoopback) expect(runs[1]?.text).toContain('SERVICE_URL=http://host.docker.internal:8080');
  });

  it('give Compose a file with settings that the agent accepts', () => {
    const { text = '' } = stepsOf('compose', service).find(({ file }) => file === 'compose.yaml') ?? {};
    const { services, volumes } = parse(text);
    expect(services.agent).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    expect(services.agent.network_mode).toBe(service.isLoopback ? 'host' : undefined);
    expect(Object.keys(volumes)).toEqual(['spool']);
    expectAccepted('agent', services.agent.environment);
    // The Compose of this machine, if it has one.
    const folder = mkdtempSync(join(tmpdir(), 'picket-compose-'));
    try {
      writeFileSync(join(folder, 'compose.yaml'), text);
      const options = { cwd: folder, encoding: 'utf8' } as const;
      if (spawnSync('docker', ['compose', 'version'], options).status === 0)
        execFileSync('docker', ['compose', 'config', '--quiet'], options);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('give Kubernetes objects of the published types that fit each other', () => {
    const [{ text = '' } = {}] = stepsOf('kubernetes', service);
    const [, yaml = ''] = /<<'EOF'\n([\s\S]*)\nEOF$/.exec(text) ?? [];
    const objects = parseAllDocuments(yaml).map((document) => document.toJS() as KubernetesObject);
    expect(objects.map(({ kind }) => kind)).toEqual(['Namespace', 'Secret', 'Deployment']);
    expect(typeErrorsOf(objects)).toEqual([]);
    expectFitting(objects);
    // As patient as the manifests: a busy node is no reason to start an agent again.
    const probes = (deployment: unknown) => {
      const container = (deployment as Deployment).spec.template.spec.containers[0];
      return [container?.startupProbe, container?.readinessProbe, container?.livenessProbe];
    };
    const file = join(import.meta.dirname, '../../../deploy/kubernetes/agent/deployment.yaml');
    expect(probes(objects[2])).toEqual(probes(parse(readFileSync(file, 'utf8'))));
  });

  it('replace the pods of Kubernetes with a new key, and only then', () => {
    const templateWith = (newKey: string) => {
      const options = { key: newKey, service, name: 'office-1' };
      const [step] = startCommands(options).find(({ id }) => id === 'kubernetes')?.steps ?? [];
      const [, template = ''] = /^ {2}template:\n([\s\S]*)\nEOF$/m.exec(step?.text ?? '') ?? [];
      return template;
    };
    expect(templateWith(key)).toContain('checksum/location-key: ');
    expect(templateWith(key)).not.toContain(key);
    expect(templateWith(key)).toBe(templateWith(key));
    expect(templateWith(key)).not.toBe(templateWith(key.replace('0', 'f')));
  });

  it('give the Debian package settings that the agent accepts', () => {
    const [, install, settings] = stepsOf('debian', service);
    expect(install?.text).toContain(`picket-agent_${packageVersion().replace('-', '~')}_`);
    const [, lines = ''] = /<<'EOF'\n([\s\S]*)\nEOF$/.exec(settings?.text ?? '') ?? [];
    expectAccepted('agent', parseEnv(lines) as Record<string, string>);
    expect(parseEnv(lines)).toMatchObject({ API_KEY: key, SERVICE_URL: service.url });
  });

  it('give systemd a unit that it accepts', () => {
    const { text = '' } = stepsOf('systemd', service)[1] ?? {};
    const [, unit = ''] = /<<'EOF'\n([\s\S]*)\nEOF$/.exec(text) ?? [];
    const settings = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, all = '']) =>
      all.split(' ').map((one) => one.split('=') as [string, string]),
    );
    const { HOME: _home, ...variables } = Object.fromEntries(settings);
    expectAccepted('agent', variables);
    const folder = mkdtempSync(join(tmpdir(), 'picket-unit-'));
    try {
      const file = join(folder, 'picket-office-1.service');
      writeFileSync(file, unit.replace('/opt/picket', folder));
      const { error, stderr, status } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      // Machines without systemd have no program that reads units.
      if (error === undefined) {
        const own = stderr.split('\n').filter((line) => line.includes('picket-office-1'));
        expect(own).toEqual([]);
        expect([0, 1]).toContain(status);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the address of the service', () => {
  const request = (host: string, protocol = 'http') => ({ protocol, host }) as never;

  it('is PUBLIC_URL, otherwise the address that the browser used', () => {
    const publicUrl = 'https://picket.example.com/base/';
    expect(serviceAddress({ publicUrl, request: request('10.0.0.1:8080') })).toEqual({
      url: 'https://picket.example.com/base',
      isLoopback: false,
    });
    expect(serviceAddress({ request: request('10.0.0.1:8080') }).url).toBe('http://10.0.0.1:8080');
    expect(serviceAddress({ request: request('$(reboot)') }).url).toBe('https://picket.example.com');
  });

  it.each(['127.0.0.1:8080', '127.8.0.1', 'localhost:8080', 'files.localhost', '[::1]:8080'])(
    'is recognized as one of the machine itself: %s',
    (host) => {
      const address = serviceAddress({ request: request(host) });
      expect(address.isLoopback).toBe(true);
      expect(fromContainer(address)).toContain('host.docker.internal');
    },
  );
});

describe('the version of an agent', () => {
  it.each([
    ['8.0.0', '8.0.0', null],
    ['6.9.1', '8.0.0', '2 major versions behind: use picket:8.0.0 or picket-uptime:8.0.0'],
    ['8.0.0', '8.1.0', 'Behind the service: use picket:8.1.0 or picket-uptime:8.1.0'],
    ['8.2.0', '8.1.0', 'Newer than the service: upgrade the service to 8.2.0'],
    ['nightly', '8.1.0', 'Unknown version: use 8.1.0'],
  ])('%s next to a service %s: %s', (version, own, advice) => {
    expect(versionAdvice(version, own)).toBe(advice);
  });
});
