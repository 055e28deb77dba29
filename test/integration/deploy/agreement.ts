import { expect } from 'vitest';
import { AgentConfig, readAgentSettings } from '../../../src/agent/config.ts';
import { readServiceConfig, ServiceConfig } from '../../../src/service/config.ts';
import { type Deployment, KubernetesObject } from './kubernetes-schemas.ts';

/** What a stop may take beyond SHUTDOWN_GRACE_SECONDS: last results, last files, sandboxes (src/agent/leasing/drain.ts). */
const stopMarginSeconds = 30;

/** Names of variables and what deploy/ sets them to; undefined for what comes from elsewhere. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Checks that each variable exists in the configuration of that role and that its value would be accepted. */
export function expectAccepted(role: string, variables: Variables): void {
  const { shape } = role === 'agent' ? AgentConfig : ServiceConfig;
  const isSecret = (name: string) => name.endsWith('_FILE') && Object.hasOwn(shape, name.slice(0, -5));
  const unknown = Object.keys(variables).filter((name) => !Object.hasOwn(shape, name) && !isSecret(name));
  expect(unknown, `variables that picket ${role} does not have`).toEqual([]);
  // Files are where the containers are.
  const given = Object.fromEntries(
    Object.entries(variables).filter(([name]) => !isSecret(name) && name !== 'CA_CERTS_DIR'),
  );
  const secrets = role === 'agent' ? { API_KEY: 'pl_key' } : {};
  const read = role === 'agent' ? readAgentSettings : readServiceConfig;
  expect(() => read({ ...secrets, ...given })).not.toThrow();
}

/** The grace of a container has to be that of the agent and what a stop takes beside. */
export function expectGraceFor(variables: Variables, graceSeconds: number): void {
  const { shutdownGraceMs } = readAgentSettings({
    API_KEY: 'pl_key',
    SERVICE_URL: 'http://picket',
    SHUTDOWN_GRACE_SECONDS: variables.SHUTDOWN_GRACE_SECONDS,
  });
  expect(graceSeconds).toBeGreaterThanOrEqual(shutdownGraceMs / 1000 + stopMarginSeconds);
}

/**
 * Checks the objects of one installation: each by its schema, and that they fit each other: selectors, volumes, ports, names.
 *
 * @param configMaps what deployments take variables from.
 */
export function expectWhole(
  objects: readonly unknown[],
  configMaps: Readonly<Record<string, Variables>> = {},
): KubernetesObject[] {
  const parsed = objects.map((object) => {
    const result = KubernetesObject.safeParse(object);
    const name = (object as { metadata?: { name?: string } }).metadata?.name;
    expect(
      result.success ? [] : result.error.issues,
      `${(object as { kind?: string }).kind} ${name}`,
    ).toEqual([]);
    return result.data as KubernetesObject;
  });
  const names = parsed.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(new Set(names).size).toBe(names.length);
  const deployments = parsed.filter((object) => object.kind === 'Deployment');
  for (const deployment of deployments) expectDeployment(deployment, parsed, configMaps);
  const podLabels = deployments.map(({ spec }) => spec.template.metadata.labels);
  for (const object of parsed) {
    const selector = selectorOf(object);
    if (selector) {
      const selected = podLabels.filter((labels) => isSelected(labels, selector));
      expect(selected.length, `pods that ${object.kind} ${object.metadata.name} selects`).toBe(1);
    }
    if (object.kind === 'ScaledObject' && deployments.length > 0) {
      const { name } = object.spec.scaleTargetRef;
      const target = deployments.find(({ metadata }) => metadata.name === name);
      expect(target?.spec.replicas, 'replicas of what is scaled').toBeUndefined();
    }
  }
  return parsed;
}

function expectDeployment(
  { metadata, spec }: Deployment,
  all: readonly KubernetesObject[],
  configMaps: Readonly<Record<string, Variables>>,
): void {
  const { template } = spec;
  expect(isSelected(template.metadata.labels, spec.selector.matchLabels), metadata.name).toBe(true);
  const [container] = template.spec.containers;
  if (!container) throw new Error('no container');
  const volumes = template.spec.volumes.map(({ name }) => name).sort();
  expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes);
  const ports = container.ports.map(({ name }) => name);
  for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
    expect(ports).toContain(probe.httpGet.port);
  }
  expect(container.readinessProbe.httpGet.path).toBe('/-/readiness');
  expect(container.livenessProbe.httpGet.path).toBe('/-/liveness');
  expect(
    all.some(
      ({ kind, metadata: other }) =>
        kind === 'ServiceAccount' && other.name === template.spec.serviceAccountName,
    ),
  ).toBe(true);
  const fromMaps = (container.envFrom ?? []).map(({ configMapRef }) => configMaps[configMapRef.name]);
  expect(fromMaps).not.toContain(undefined);
  const own = container.env.map((one) => [one.name, 'value' in one ? one.value : undefined] as const);
  expect(new Set(own.map(([name]) => name)).size).toBe(own.length);
  const variables: Variables = Object.assign({}, ...fromMaps, Object.fromEntries(own));
  const [role = ''] = container.args;
  expectAccepted(role, variables);
  if (role === 'agent') expectGraceFor(variables, template.spec.terminationGracePeriodSeconds);
  // What is written has a place although the root cannot be written.
  const places = container.volumeMounts.map(({ mountPath }) => mountPath);
  expect(places).toContain('/tmp');
  for (const place of [variables.SPOOL_DIR, variables.DATA_DIR]) if (place) expect(places).toContain(place);
}

function selectorOf(object: KubernetesObject): Readonly<Record<string, string>> | undefined {
  if (object.kind === 'Service') return object.spec.selector;
  if (object.kind === 'PodDisruptionBudget') return object.spec.selector.matchLabels;
  if (object.kind === 'NetworkPolicy') return object.spec.podSelector.matchLabels;
  return undefined;
}

function isSelected(labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>>) {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
