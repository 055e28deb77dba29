import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import type { Kubectl } from './kubectl.ts';

const root = join(import.meta.dirname, '..', '..');
const manifests = join(root, 'deploy', 'kubernetes');

export interface KubernetesObject {
  apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Record<string, unknown>;
}

interface Kustomization {
  resources?: string[];
  bases?: string[];
  patches?: { target: { kind: string; name: string }; patch: string }[];
  patchesJson6902?: { target: Record<string, string>; path: string }[];
}

/**
 * Makes a copy of deploy/kubernetes for the Kustomize of kubectl 1.20, which is 2.0.3: it has another name for folders among the resources,
 * and for patches, which have to be in files. What they say stays as it is.
 */
export async function copyManifests(folder: string): Promise<void> {
  await cp(manifests, folder, { recursive: true });
  for (const name of await readdir(folder)) {
    const file = join(folder, name, 'kustomization.yaml');
    const { patches = [], resources = [], ...rest } = parse(await readFile(file, 'utf8')) as Kustomization;
    const old: Kustomization = {
      ...rest,
      resources: resources.filter((path) => path.endsWith('.yaml')),
      bases: resources.filter((path) => !path.endsWith('.yaml')),
    };
    for (const [index, { target, patch }] of patches.entries()) {
      const path = `patch-${index}.yaml`;
      await writeFile(join(folder, name, path), patch);
      old.patchesJson6902 ??= [];
      old.patchesJson6902.push({ target: { group: 'apps', version: 'v1', ...target }, path });
    }
    await writeFile(file, stringify(old));
  }
}

/** Adds what somebody who installs an agent adds: a folder with one of ours as its base, and the address of the service. */
export async function writeOverlay(
  folder: string,
  name: string,
  base: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(join(folder, name));
  const literals = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  await writeFile(
    join(folder, name, 'kustomization.yaml'),
    stringify({
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      bases: [`../${base}`],
      configMapGenerator: [{ name: 'picket-agent', behavior: 'merge', literals }],
    }),
  );
}

/** What `kubectl kustomize` makes of a folder. */
export async function kustomized(kubectl: Kubectl, folder: string): Promise<KubernetesObject[]> {
  const text = await kubectl.ask('kustomize', folder);
  // As Kubernetes reads YAML: numbers that begin with 0 are octal.
  return parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as KubernetesObject);
}

/**
 * Objects as a cluster of 1.20 has them.
 *
 * @returns them, and in words what had to be changed.
 */
export function for120(objects: readonly KubernetesObject[]): {
  readonly objects: KubernetesObject[];
  readonly changes: string[];
} {
  const changes: string[] = [];
  const adapted = objects.map((object) => {
    if (object.kind !== 'PodDisruptionBudget' || object.apiVersion !== 'policy/v1') return object;
    const { unhealthyPodEvictionPolicy, ...spec } = object.spec ?? {};
    changes.push(
      `PodDisruptionBudget ${object.metadata.name} as policy/v1beta1 (policy/v1 came with 1.21), without unhealthyPodEvictionPolicy: ${unhealthyPodEvictionPolicy} (1.26)`,
    );
    return { ...object, apiVersion: 'policy/v1beta1', spec };
  });
  return { objects: adapted, changes };
}

/** One file for `kubectl -f`. */
export function listOf(objects: readonly KubernetesObject[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, undefined, 1);
}
