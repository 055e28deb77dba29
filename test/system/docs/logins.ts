import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startMysqlTarget } from '../../helpers/mysql/mysql-target.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startDigestTarget } from '../../helpers/targets/digest-target.ts';
import type { Trial } from './block-table.ts';
import { root } from './command-blocks.ts';
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

/** Runs the check of the page against a server of MySQL with a certificate of its own authority. */
export const queriesMysql: Trial = async (stage, text) => {
  const password = /^SERVICE_SECRET_DB='(.+)' /m.exec(text)?.[1] ?? '';
  const authority = await createAuthority();
  const tls = await authority.issue({ hosts: ['127.0.0.1'] });
  await using target = await startMysqlTarget({ tls, password, answer: () => ({ rows: ['12'] }) });
  const cwd = stage.copyOf();
  const authorities = join(cwd, 'authorities');
  mkdirSync(authorities);
  writeFileSync(join(authorities, 'own.pem'), authority.cert);
  const { code, output } = await runInShell(text.replace('db.example.com', `127.0.0.1:${target.port}`), {
    cwd,
    environment: stage.environment({ CA_CERTS_DIR: authorities }),
  });
  expect(code, output).toBe(0);
  expect(output).toContain('PASSED');
  expect(target.statements.at(-1)).toMatch(/^select count/);
};

/** It needs a KDC: the test of the night logs in with one. */
export const logsInBrowsers: Trial = async (_stage, text) => {
  const test = readFileSync(join(root, 'test/system/checks/kerberos-browsers.night.test.ts'), 'utf8');
  for (const [name] of text.matchAll(/KERBEROS_\w+/g)) expect(test).toContain(name);
};
