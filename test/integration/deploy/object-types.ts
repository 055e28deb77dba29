import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const modules = join(import.meta.dirname, '../../../node_modules');

/**
 * Compiler errors in Kubernetes objects, each written as a literal of its published type: unknown fields, wrong types,
 * missing fields.
 *
 * @returns one line per error; empty if there are no errors.
 */
export function typeErrorsOf(objects: readonly unknown[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'picket-manifests-'));
  try {
    symlinkSync(modules, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'objects.ts'), objects.map(declarationOf).join('\n'));
    const compiler = join(modules, 'typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
    const { status, stdout } = spawnSync(process.execPath, [compiler, ...options, 'objects.ts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const errors = stdout.split('\n').filter((line) => line.includes('error TS'));
    if (status !== 0 && errors.length === 0) throw new Error(`the compiler ended with ${status}\n${stdout}`);
    return errors;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Packages with the published types of custom resources, by API group. */
const modelsOf: Readonly<Record<string, string>> = {
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

function declarationOf(object: unknown, index: number): string {
  const { apiVersion, kind } = object as { apiVersion: string; kind: string };
  const models = modelsOf[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models';
  const type = `import('${models}/${apiVersion}').I${kind}`;
  return `export const object${index}: ${type} = ${JSON.stringify(object, null, 2)};`;
}
