import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { packageVersion } from '../../../src/lib/version.ts';
import {
  expectAccepted,
  expectFitting,
  expectGraceFor,
  type KubernetesObject,
  type Variables,
} from './agreement.ts';
import { typeErrorsOf } from './object-types.ts';

const deploy = join(import.meta.dirname, '../../../deploy');
const read = (path: string) => parse(readFileSync(join(deploy, path), 'utf8'), { merge: true }) as unknown;

const literal = z.string().regex(/^[A-Z_]+=/);
const Kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  resources: z.array(z.string()),
  images: z
    .array(
      z.strictObject({
        name: z.literal('picket'),
        newName: z.literal('picket-uptime').optional(),
        newTag: z.literal(packageVersion()),
      }),
    )
    .optional(),
  configMapGenerator: z
    .array(
      z.strictObject({
        name: z.string(),
        behavior: z.literal('merge').optional(),
        literals: z.array(literal),
      }),
    )
    .optional(),
  patches: z
    .array(
      z.strictObject({ target: z.strictObject({ kind: z.string(), name: z.string() }), patch: z.string() }),
    )
    .optional(),
});
const Patch = z.array(
  z.discriminatedUnion('op', [
    z.strictObject({ op: z.literal('replace'), path: z.string(), value: z.unknown() }),
    z.strictObject({ op: z.literal('remove'), path: z.string() }),
  ]),
);

/** The result of `kubectl kustomize` for a folder, for the features that deploy/kubernetes uses. */
function kustomized(folder: string): { objects: KubernetesObject[]; configMaps: Record<string, Variables> } {
  const { resources, configMapGenerator, patches } = Kustomization.parse(
    read(`${folder}/kustomization.yaml`),
  );
  const objects: KubernetesObject[] = [];
  const configMaps: Record<string, Variables> = {};
  for (const resource of resources) {
    if (resource.endsWith('.yaml')) objects.push(read(`${folder}/${resource}`) as KubernetesObject);
    else {
      const base = kustomized(join(folder, resource));
      objects.push(...base.objects);
      Object.assign(configMaps, base.configMaps);
    }
  }
  for (const { name, literals } of configMapGenerator ?? []) {
    const variables = literals.map((one) => one.split(/=(.*)/s).slice(0, 2));
    configMaps[name] = { ...configMaps[name], ...Object.fromEntries(variables) };
  }
  for (const { target, patch } of patches ?? []) {
    const object = objects.find(
      ({ kind, metadata }) => kind === target.kind && metadata.name === target.name,
    );
    if (!object) throw new Error(`nothing to patch: ${target.kind} ${target.name}`);
    for (const step of Patch.parse(parse(patch))) apply(object, step);
  }
  return { objects, configMaps };
}

function apply(object: unknown, step: z.output<typeof Patch>[number]): void {
  const names = step.path.split('/').slice(1);
  const last = names.pop() ?? '';
  const owner = names.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], object);
  if (!(last in (owner as object))) throw new Error(`${step.path} is not there`);
  if (step.op === 'replace') (owner as Record<string, unknown>)[last] = step.value;
  else if (Array.isArray(owner)) owner.splice(Number(last), 1);
  else delete (owner as Record<string, unknown>)[last];
}

describe('the manifests for Kubernetes', () => {
  const folders = ['agent', 'agent-uptime', 'service', 'autoscaling'];

  it('have no field that Kubernetes and KEDA do not know, and none of a wrong type', () => {
    expect(typeErrorsOf(folders.flatMap((name) => kustomized(`kubernetes/${name}`).objects))).toEqual([]);
  });

  it.each(folders)('%s is consistent with itself and the configuration', (name) => {
    const { objects, configMaps } = kustomized(`kubernetes/${name}`);
    expectFitting(objects, configMaps);
  });

  it.each([
    ['"runAsNonRoot"', '"runAsNonRot"'],
    ['"readinessProbe"', '"readinesProbe"'],
    ['"terminationGracePeriodSeconds":330', '"terminationGracePeriodSeconds":"330"'],
  ])('are checked so that %s cannot be written %s', (right, wrong) => {
    const text = JSON.stringify(kustomized('kubernetes/agent').objects);
    expect(text).toContain(right);
    expect(typeErrorsOf(JSON.parse(text.replace(right, wrong)))).toHaveLength(1);
  });

  it.each([
    ['"terminationGracePeriodSeconds":330', '"terminationGracePeriodSeconds":300'],
    ['"SPOOL_DIR"', '"SPOL_DIR"'],
    ['"name":"spool","mountPath"', '"name":"spol","mountPath"'],
    ['"drop":["ALL"]', '"drop":[]'],
  ])('are no longer consistent with %s as %s', (right, wrong) => {
    const { objects, configMaps } = kustomized('kubernetes/agent');
    const text = JSON.stringify(objects);
    expect(text).toContain(right);
    expect(() => expectFitting(JSON.parse(text.replace(right, wrong)), configMaps)).toThrow();
  });

  it('leave out of the small agent what only scripts need', () => {
    const { objects } = kustomized('kubernetes/agent-uptime');
    const text = JSON.stringify(objects);
    expect(text).not.toContain('Localhost');
    expect(text).not.toContain('/var/tmp');
    expect(text).toContain('/var/spool/picket');
  });
});

const ComposeService = z.strictObject({
  image: z.string(),
  command: z.tuple([z.enum(['agent', 'service'])]).optional(),
  restart: z.literal('unless-stopped'),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.array(z.enum(['no-new-privileges:true', 'seccomp:seccomp/picket.json'])).min(1),
  sysctls: z.strictObject({ 'net.ipv4.ping_group_range': z.literal('0 2147483647') }).optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).optional(),
  environment: z.record(z.string(), z.string()),
  secrets: z.array(z.string()),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()),
  tmpfs: z.array(z.string()),
  healthcheck: z
    .strictObject({
      test: z.array(z.string()),
      interval: z.string(),
      timeout: z.string(),
      start_period: z.string().optional(),
      retries: z.int(),
    })
    .optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  mem_limit: z.string().optional(),
  pids_limit: z.int().optional(),
  logging: z.strictObject({ driver: z.string(), options: z.record(z.string(), z.string()) }),
});

describe.each(['compose.yaml', 'compose.agent.yaml'])('%s', (file) => {
  const compose = read(file) as {
    readonly services: Readonly<Record<string, unknown>>;
    readonly volumes: object;
    readonly secrets: object;
  };

  it('sets known variables, and confines the programs', () => {
    for (const [name, definition] of Object.entries(compose.services)) {
      if (name === 'database') continue;
      const service = ComposeService.parse(definition);
      const role = service.command?.[0] ?? 'agent';
      expect(service.image).toBe(`picket:${packageVersion()}`);
      expect(service.security_opt).toContain('no-new-privileges:true');
      const variables = Object.fromEntries(
        Object.entries(service.environment).map(([key, value]) => [
          key,
          // ${NAME:-default}; required variables get a value here.
          value.replace(/^\$\{\w+:-(.*)\}$/, '$1').replace(/^\$\{SERVICE_URL:\?.*\}$/, 'http://picket'),
        ]),
      );
      expectAccepted(role, variables);
      if (role === 'agent') expectGraceFor(variables, Number.parseInt(service.stop_grace_period ?? '10', 10));
      for (const secret of service.secrets) expect(Object.keys(compose.secrets)).toContain(secret);
      for (const [, path] of Object.entries(variables).filter(([key]) => key.endsWith('_FILE')))
        expect(service.secrets.map((secret) => `/run/secrets/${secret}`)).toContain(path);
      for (const volume of service.volumes)
        expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
      for (const other of Object.keys(service.depends_on ?? {}))
        expect((compose.services[other] as { healthcheck?: object }).healthcheck).toBeDefined();
    }
  });
});
