import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { packageVersion } from '../../../src/lib/version.ts';
import { expectAccepted, expectGraceFor, expectWhole } from '../deploy/agreement.ts';
import { renderChart } from '../deploy/chart.ts';
import { root } from './command-blocks.ts';

/** How a stand-in (stand-in.ts) was called. */
export interface Call {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly pids: readonly number[];
}

/** As much of a deployment as tells which secrets it wants. */
const Deployment = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.array(
          z.object({
            env: z.array(
              z.object({
                valueFrom: z
                  .object({ secretKeyRef: z.object({ name: z.string(), key: z.string() }).optional() })
                  .optional(),
              }),
            ),
          }),
        ),
        volumes: z.array(
          z.object({
            secret: z
              .object({ secretName: z.string(), items: z.array(z.object({ key: z.string() })) })
              .optional(),
          }),
        ),
      }),
    }),
  }),
});

const images = [`picket:${packageVersion()}`, `picket-uptime:${packageVersion()}`];
/** How many words follow each option of `docker run` that the documents use. */
const runOptions: Readonly<Record<string, 0 | 1>> = {
  '-d': 0,
  '--read-only': 0,
  '--name': 1,
  '--tmpfs': 1,
  '--cap-drop': 1,
  '--security-opt': 1,
  '--sysctl': 1,
  '--memory': 1,
  '--pids-limit': 1,
  '--stop-timeout': 1,
  '-v': 1,
  '-e': 1,
};
const rootsOfManifests = ['agent', 'agent-uptime', 'service', 'autoscaling'];

const judges: Readonly<Record<string, (call: Call, rest: readonly string[]) => void>> = {
  build: expectBuild,
  buildx: (call, [verb, ...rest]) => {
    expect(verb).toBe('build');
    expectBuild(call, rest);
  },
  run: (_, rest) => expectRun(rest),
  exec: (_, [, ...command]) => expect(command).toEqual(['picket', 'doctor']),
  compose: expectCompose,
  save: (_, rest) => expect(rest.slice(0, 2)).toEqual(images),
  load: (_, rest) => expect(rest).toEqual([]),
  kubectl: ({ args }) => expectKubectl(args),
  helm: (_, rest) => expectHelm(rest),
};

/** Judges how a program of containers was called: that all it names exists here, and means what the block says. */
export function expectSound(call: Call): void {
  const text = [call.program, ...call.args].join(' ');
  const [verb = '', ...rest] = call.args;
  const judge = judges[call.program === 'docker' ? verb : call.program];
  if (!judge) throw new Error(`nobody here can judge: ${text}`);
  judge(call, rest);
}

function expectBuild(call: Call, args: readonly string[]): void {
  const { options, words } = read(args, { '-t': 1, '-f': 1, '--platform': 1 });
  expect(words).toEqual(['.']);
  const [file = 'Dockerfile'] = options['-f'] ?? [];
  expect(existsSync(join(call.cwd, file)), file).toBe(true);
  expect(options['-t']).toEqual([file === 'Dockerfile' ? images[0] : images[1]]);
}

function expectRun(args: readonly string[]): void {
  const { options, words } = read(args, runOptions);
  const [image = '', ...command] = words;
  expect(images).toContain(image);
  expect(command).toEqual([]);
  const variables: Record<string, string> = Object.fromEntries(
    (options['-e'] ?? []).map((one) => one.split(/=(.*)/s).slice(0, 2)),
  );
  expectAccepted('agent', variables);
  if (options['--stop-timeout']) expectGraceFor(variables, Number(options['--stop-timeout'][0]));
  for (const option of options['--security-opt'] ?? []) {
    const [, file] = /^seccomp=(.*)$/.exec(option) ?? [];
    if (file) expect(existsSync(join(root, file)), file).toBe(true);
  }
  // What is set to a folder has to be one of the container's.
  const places = (options['-v'] ?? []).map((volume) => volume.split(':')[1]);
  for (const name of ['SPOOL_DIR', 'CA_CERTS_DIR'])
    if (variables[name]) expect(places, name).toContain(variables[name]);
}

function expectCompose(call: Call, args: readonly string[]): void {
  const [verb, ...rest] = args;
  expect(verb).toBe('up');
  const { words } = read(rest, { '-d': 0 });
  const { services, secrets } = parse(readFileSync(join(call.cwd, 'compose.yaml'), 'utf8')) as {
    services: Record<string, { secrets: string[] }>;
    secrets: Record<string, { file: string }>;
  };
  for (const word of words) {
    expect(Object.keys(services)).toContain(word);
    for (const name of services[word]?.secrets ?? [])
      expect(existsSync(resolve(call.cwd, secrets[name]?.file ?? '')), `the secret ${name}`).toBe(true);
  }
}

function expectKubectl(all: readonly string[]): void {
  const { options, words } = read(all, { '-n': 1, '-k': 1, '--from-literal': 1 });
  const [verb, kind, ...rest] = words;
  if (verb === 'apply') {
    const folder = options['-k']?.[0] ?? '';
    expect(rootsOfManifests.map((name) => `deploy/kubernetes/${name}`)).toContain(folder);
    expect(existsSync(join(root, folder, 'kustomization.yaml'))).toBe(true);
  } else if (verb === 'create' && kind === 'secret') {
    const [type, name] = rest;
    expect(type).toBe('generic');
    const keys = (options['--from-literal'] ?? []).map((one) => one.split('=')[0] ?? '').sort();
    expect(keys, `the keys that the manifests take from ${name}`).toEqual(keysOfSecret(name ?? ''));
  } else if (verb === 'create') expect([kind, rest.length]).toEqual(['namespace', 1]);
  else if (verb === 'label')
    expect(rest).toEqual(['picket', 'pod-security.kubernetes.io/enforce=restricted']);
  else throw new Error(`nobody here can judge: kubectl ${all.join(' ')}`);
}

/** The keys that the manifests take from a secret: into variables, or into files. */
function keysOfSecret(name: string): string[] {
  const found = rootsOfManifests.flatMap((folder) => {
    const file = join(root, 'deploy/kubernetes', folder, 'deployment.yaml');
    if (!existsSync(file)) return [];
    const { spec } = Deployment.parse(parse(readFileSync(file, 'utf8'))).spec.template;
    const variables = spec.containers.flatMap(({ env }) =>
      env.map(({ valueFrom }) => valueFrom?.secretKeyRef),
    );
    const files = spec.volumes.flatMap(({ secret }) =>
      (secret?.items ?? []).map(({ key }) => ({ name: secret?.secretName, key })),
    );
    return [...variables, ...files].flatMap((one) => (one?.name === name ? [one.key] : []));
  });
  return [...new Set(found)].sort();
}

function expectHelm(args: readonly string[]): void {
  const { options, words } = read(args, { '-n': 1, '--set': 1 });
  const [, chart] = words;
  expect(chart).toBe('deploy/helm/picket');
  const values: Record<string, unknown> = {};
  for (const one of options['--set'] ?? []) {
    const [path = '', value = ''] = one.split(/=(.*)/s);
    const names = path.split('.');
    const last = names.pop() ?? '';
    let inner = values;
    for (const name of names) {
      inner[name] ??= {};
      inner = inner[name] as Record<string, unknown>;
    }
    inner[last] = value;
  }
  // Its schema refuses values that do not exist.
  expectWhole(renderChart(values));
}

/** Tells options, by the number of words that follow each, from words. @throws Error for an option that is not known. */
function read(args: readonly string[], known: Readonly<Record<string, 0 | 1>>) {
  const options: Record<string, string[]> = {};
  const words: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const [, name = '', joined] = /^(--?[a-z][a-z-]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === '') {
      words.push(arg);
      continue;
    }
    const count = known[name];
    if (count === undefined) throw new Error(`an option that nobody here can judge: ${arg}`);
    options[name] ??= [];
    if (count === 0) continue;
    if (joined === undefined) index += 1;
    options[name].push(joined ?? args[index] ?? '');
  }
  return { options, words };
}
