import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { copyManifests, for120, listOf, writeOverlay } from '../../scripts/cluster/manifests.ts';

// What `npm run cluster` does to the manifests before a cluster of 1.20 gets them; the cluster itself is not for every day.
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picket-cluster-test-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const kustomization = async (name: string) =>
  parse(await readFile(join(folder, 'copy', name, 'kustomization.yaml'), 'utf8')) as Record<string, unknown>;

describe('manifests for a cluster of 1.20', () => {
  it('say the same in the words of Kustomize 2', async () => {
    await copyManifests(join(folder, 'copy'));
    const original = parse(await readFile('deploy/kubernetes/agent-uptime/kustomization.yaml', 'utf8')) as {
      readonly patches: readonly { readonly patch: string }[];
    };
    const uptime = await kustomization('agent-uptime');
    expect(uptime).toMatchObject({
      resources: [],
      bases: ['../agent'],
      images: [{ name: 'picket', newName: 'picket-uptime' }],
      patchesJson6902: [
        {
          target: { group: 'apps', version: 'v1', kind: 'Deployment', name: 'picket-agent' },
          path: 'patch-0.yaml',
        },
      ],
    });
    expect(uptime).not.toHaveProperty('patches');
    expect(original.patches).toHaveLength(1);
    expect(await readFile(join(folder, 'copy/agent-uptime/patch-0.yaml'), 'utf8')).toBe(
      original.patches[0]?.patch,
    );
    const agent = await kustomization('agent');
    expect(agent.resources).toContain('deployment.yaml');
    expect(agent.bases).toEqual([]);
    expect((await readdir(join(folder, 'copy/agent'))).sort()).toEqual(
      (await readdir('deploy/kubernetes/agent')).sort(),
    );
  });

  it('get an overlay that sets the address of the service and nothing else', async () => {
    await copyManifests(join(folder, 'copy'));
    await writeOverlay(join(folder, 'copy'), 'trial', 'agent-uptime', { SERVICE_URL: 'http://192.0.2.1' });
    expect(await kustomization('trial')).toEqual({
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      bases: ['../agent-uptime'],
      configMapGenerator: [
        { name: 'picket-agent', behavior: 'merge', literals: ['SERVICE_URL=http://192.0.2.1'] },
      ],
    });
  });

  it('have the disruption budget of that time, and tell so; everything else is left alone', async () => {
    const budget = parse(await readFile('deploy/kubernetes/agent/pod-disruption-budget.yaml', 'utf8'));
    const deployment = parse(await readFile('deploy/kubernetes/agent/deployment.yaml', 'utf8'));
    const { objects, changes } = for120([budget, deployment]);
    expect(objects[0]).toEqual({
      ...budget,
      apiVersion: 'policy/v1beta1',
      spec: { maxUnavailable: 1, selector: budget.spec.selector },
    });
    expect(objects[1]).toBe(deployment);
    expect(changes).toEqual([expect.stringContaining('unhealthyPodEvictionPolicy: AlwaysAllow')]);
    expect(JSON.parse(listOf(objects))).toMatchObject({ kind: 'List', items: [{ spec: {} }, { spec: {} }] });
  });
});

it('containers are asked for no limits that the machine may not raise, and keep all else', async () => {
  const run = promisify(execFile);
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  const processSpec = {
    args: ['agent'],
    oomScoreAdj: -998,
    rlimits: [{ type: 'RLIMIT_NOFILE', hard: 1_048_576, soft: 1_048_576 }],
  };
  await writeFile(
    join(bundle, 'config.json'),
    JSON.stringify({ process: processSpec, root: { readonly: true } }),
  );
  await writeFile(join(folder, 'process.json'), JSON.stringify({ ...processSpec, oomScoreAdj: 985 }));
  const soften = ['scripts/cluster/permitted-limits.ts', '--root', folder];
  await run(process.execPath, [...soften, 'create', '--bundle', bundle, 'id']);
  await run(process.execPath, [...soften, 'exec', `--process=${join(folder, 'process.json')}`, 'id']);
  const read = async (path: string) => JSON.parse(await readFile(join(folder, path), 'utf8')) as unknown;
  expect(await read('bundle/config.json')).toEqual({
    process: { args: ['agent'] },
    root: { readonly: true },
  });
  expect(await read('process.json')).toEqual({ args: ['agent'], oomScoreAdj: 985 });
});
