import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { packageVersion } from '../../../src/lib/version.ts';
import { expectAccepted } from '../../integration/deploy/agreement.ts';
import { root } from './command-blocks.ts';

/**
 * Checks commands that need containers or a cluster, without running them: their syntax, that the files of this
 * checkout that they mention exist, that images have this version, and that the agent knows the settings in them.
 */
export function expectLinted(text: string): void {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  for (const [, file = ''] of text.matchAll(/(?:^|[\s=])((?:deploy|docs)\/[\w./-]+|Dockerfile[\w.]*)/gm))
    expect(existsSync(join(root, file)), file).toBe(true);
  for (const [image, version] of text.matchAll(/\bpicket(?:-uptime)?:(\d[\w.-]*)/g))
    expect(version, image).toBe(packageVersion());
  const settings = [...text.matchAll(/\s-e ([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [
    name,
    value?.replace('…', 'example'),
  ]);
  if (settings.length > 0) expectAccepted('agent', Object.fromEntries(settings));
}
