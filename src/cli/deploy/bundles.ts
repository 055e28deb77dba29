import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeBundleKey } from '@picket/checks/contract/code-bundle.ts';
import { codeBundleRoutes } from '@picket/protocol/agent/code-bundle.ts';
import type { ApiClient } from '../api/client.ts';
import type { Definition } from '../project/project.ts';
import { openLocalBundle } from '../run/suite-folder.ts';

/**
 * Uploads the suites that files refer to by path, and replaces the paths with the keys that checks use; an archive with
 * the same content is stored only once.
 *
 * @param folderOf returns the base folder of a definition's paths.
 */
export async function withBundles(
  api: ApiClient,
  all: readonly Definition[],
  folderOf: (definition: Definition) => string,
): Promise<readonly Definition[]> {
  const definitions: Definition[] = [];
  for (const definition of all) {
    const { codeBundlePath: path } = definition.fields;
    if (typeof path !== 'string' || codeBundleKey.test(path)) {
      definitions.push(definition);
      continue;
    }
    const bundle = await openLocalBundle(resolve(folderOf(definition), path));
    try {
      const body = new Uint8Array(await readFile(bundle.path));
      const { key } = await api.call(codeBundleRoutes.uploadCodeBundle, { body });
      definitions.push({ ...definition, fields: { ...definition.fields, codeBundlePath: key } });
    } finally {
      await bundle.remove();
    }
  }
  return definitions;
}
