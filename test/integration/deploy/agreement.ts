import type { IDeployment } from 'kubernetes-models/apps/v1';
import type { IContainer } from 'kubernetes-models/v1';
import { expect } from 'vitest';
import { AgentConfig, readAgentSettings } from '../../../src/agent/config.ts';
import { ownBytes } from '../../../src/agent/doctor/host.ts';
import { readServiceConfig, ServiceConfig } from '../../../src/platform/config/config.ts';

/**
 * Extra time of a stop beyond SHUTDOWN_GRACE_SECONDS: last results, last files, sandboxes (src/agent/leasing/drain.ts).
 */
const stopMarginSeconds = 30;

/** Variables and their values in deploy/; undefined for values from elsewhere. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Checks that each variable exists in the configuration of that role and that its value would be accepted. */
export function expectAccepted(role: string, variables: Variables): void {
  const { shape } = role === 'agent' ? AgentConfig : ServiceConfig;
  const isSecret = (name: string) => name.endsWith('_FILE') && Object.hasOwn(shape, name.slice(0, -5));
  const unknown = Object.keys(variables).filter((name) => !Object.hasOwn(shape, name) && !isSecret(name));
  expect(unknown, `variables that picket ${role} does not have`).toEqual([]);
  // Files exist only in the containers.
  const given = Object.fromEntries(
    Object.entries(variables).filter(([name]) => !isSecret(name) && name !== 'CA_CERTS_DIR'),
  );
  const secrets = role === 'agent' ? { API_KEY: 'pl_key' } : {};
  const read = role === 'agent' ? readAgentSettings : readServiceConfig;
  expect(() => read({ ...secrets, ...given })).not.toThrow();
}

/** Checks that a container's grace period covers that of the agent and the extra time of a stop. */
export function expectGraceFor(variables: Variables, graceSeconds: number): void {
  const { shutdownGraceMs } = readAgentSettings({
    API_KEY: 'pl_key',
    SERVICE_URL: 'http://picket',
    SHUTDOWN_GRACE_SECONDS: variables.SHUTDOWN_GRACE_SECONDS,
  });
  expect(graceSeconds).toBeGreaterThanOrEqual(shutdownGraceMs / 1000 + stopMarginSeconds);
}

/** The part of an object that identifies it and its selectors. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the compiler has checked it against the type of its kind (object-types.ts)
  readonly spec?: any;
}

/**
 * Checks that the objects of one installation match each other (selectors, volumes, ports, names), that they confine
 * their containers, and that the configuration knows their variables. object-types.ts checks their fields.
 *
 * @param configMaps sources of the deployments' variables.
 */
export function expectFitting(
  objects: readonly KubernetesObject[],
  configMaps: Readonly<Record<string, Variables>> = {},
): void {
  const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(new Set(names).size).toBe(names.length);
  const deployments = objects.filter(({ kind }) => kind === 'Deployment') as unknown as IDeployment[];
  for (const deployment of deployments) expectDeployment(deployment, objects, configMaps);
  const podLabels = deployments.map(({ spec }) => spec?.template.metadata?.labels ?? {});
  for (const object of objects) {
    const selector = selectorOf(object);
    if (selector) {
      const selected = podLabels.filter((labels) => isSelected(labels, selector));
      expect(selected.length, `pods that ${object.kind} ${object.metadata.name} selects`).toBe(1);
    }
    if (object.kind === 'ScaledObject' && deployments.length > 0) {
      const { name } = object.spec.scaleTargetRef;
      const target = deployments.find(({ metadata }) => metadata?.name === name);
      expect(target?.spec?.replicas, 'replicas of what is scaled').toBeUndefined();
    }
  }
}

function expectDeployment(
  { metadata, spec }: IDeployment,
  all: readonly KubernetesObject[],
  configMaps: Readonly<Record<string, Variables>>,
): void {
  const pod = spec?.template.spec;
  const [container] = pod?.containers ?? [];
  if (!pod || !container) throw new Error(`${metadata?.name} has no container`);
  expect(isSelected(spec.template.metadata?.labels ?? {}, spec.selector.matchLabels ?? {})).toBe(true);
  const mounts = container.volumeMounts ?? [];
  expect(mounts.map(({ name }) => name).sort()).toEqual((pod.volumes ?? []).map(({ name }) => name).sort());
  const ports = (container.ports ?? []).map(({ name }) => name);
  for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe])
    expect(ports).toContain(probe?.httpGet?.port);
  expect(container.readinessProbe?.httpGet?.path).toBe('/-/readiness');
  expect(container.livenessProbe?.httpGet?.path).toBe('/-/liveness');
  const accounts = all
    .filter(({ kind }) => kind === 'ServiceAccount')
    .map((account) => account.metadata.name);
  // Without a service account of its own, the installation refers to an existing one.
  if (accounts.length > 0) expect(accounts).toContain(pod.serviceAccountName);
  // All of the profile "restricted" of the pod security standards, and more.
  expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
  // Without ids the cluster chooses them (OpenShift); runAsNonRoot rules out 0.
  for (const id of ['runAsUser', 'runAsGroup', 'fsGroup'] as const)
    expect(pod.securityContext?.[id] ?? 1).toBeGreaterThan(0);
  expect(['RuntimeDefault', 'Localhost']).toContain(pod.securityContext?.seccompProfile?.type);
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  const variables = variablesOf(container, configMaps);
  const [role = ''] = container.args ?? [];
  expectAccepted(role, variables);
  if (role === 'agent') {
    expectGraceFor(variables, pod.terminationGracePeriodSeconds ?? 30);
    // `picket doctor` in the pod does not call it too little.
    expect(bytesOf(String(container.resources?.limits?.memory))).toBeGreaterThanOrEqual(ownBytes);
  }
  // Written files have a mount, because the root file system is read-only.
  const places = mounts.map(({ mountPath }) => mountPath);
  expect(places).toContain('/tmp');
  for (const place of [variables.SPOOL_DIR, variables.DATA_DIR]) if (place) expect(places).toContain(place);
}

/** @param quantity a size in Mi or Gi, as our manifests have it. */
function bytesOf(quantity: string): number {
  const [, number, unit] = /^(\d+)(Mi|Gi)$/.exec(quantity) ?? [];
  return Number(number) * 1024 ** (unit === 'Gi' ? 3 : 2);
}

function variablesOf(container: IContainer, configMaps: Readonly<Record<string, Variables>>): Variables {
  const fromMaps = (container.envFrom ?? []).map(
    ({ configMapRef }) => configMaps[configMapRef?.name ?? 'none'],
  );
  expect(fromMaps).not.toContain(undefined);
  const own = (container.env ?? []).map(({ name, value }) => [name, value] as const);
  expect(new Set(own.map(([name]) => name)).size).toBe(own.length);
  return Object.assign({}, ...fromMaps, Object.fromEntries(own));
}

function selectorOf(object: KubernetesObject): Readonly<Record<string, string>> | undefined {
  const { kind, spec } = object;
  if (kind === 'Service') return spec.selector;
  if (kind === 'PodDisruptionBudget') return spec.selector.matchLabels;
  return kind === 'NetworkPolicy' ? spec.podSelector.matchLabels : undefined;
}

function isSelected(labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>>) {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
