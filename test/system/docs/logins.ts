import { expect } from 'vitest';
import { startDigestTarget } from '../../helpers/targets/digest-target.ts';
import type { Trial } from './block-table.ts';
import { runInShell } from './shell.ts';

/** Runs the check of the page against a server that asks for Digest credentials. */
export const logsInByDigest: Trial = async (stage, text) => {
  const password = /^SERVICE_SECRET_INTRANET='(.+)' /m.exec(text)?.[1] ?? '';
  await using target = await startDigestTarget({ username: 'monitor', password });
  const { code, output } = await runInShell(text.replaceAll('https://intranet.example.com', target.url), {
    cwd: stage.copyOf(),
    environment: stage.environment(),
  });
  expect(code, output).toBe(0);
  expect(output).toContain('PASSED');
  expect(output).toContain('Digest with SHA-256: accepted');
  expect(target.requests).toHaveLength(2);
};
