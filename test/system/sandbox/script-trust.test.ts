import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BrowserMissing, findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { prepareScriptTrust } from '../../../src/sandbox/trust/script-trust.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';

let parent: string;
const certificates: string[] = [];

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'picket-trust-'));
  certificates.push((await createAuthority('One')).cert, (await createAuthority('Two')).cert);
});
afterAll(() => rm(parent, { recursive: true }));

const blocksIn = (path: string) =>
  readFileSync(path, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
const plain = (pem: string) => pem.replaceAll(/\s/g, '');

it("writes Node's additional authorities, all authorities for replaced lists, and a policy for Firefox", async () => {
  const directory = join(parent, 'trust');
  const options = { directory, certificates, executablePath: undefined };
  await prepareScriptTrust(options);
  const trust = await prepareScriptTrust(options);
  const { NODE_EXTRA_CA_CERTS: added = '', PLAYWRIGHT_FIREFOX_POLICIES_JSON: policies = '' } =
    trust.environment;
  expect(blocksIn(added).map(plain)).toEqual([...getCACertificates('extra'), ...certificates].map(plain));
  const whole = blocksIn(trust.installEnvironment.GIT_SSL_CAINFO ?? '');
  expect(whole).toHaveLength(getCACertificates('default').length + 2);
  const { Install: files } = JSON.parse(readFileSync(policies, 'utf8')).policies.Certificates as {
    Install: string[];
  };
  expect(files.map((path) => plain(readFileSync(path, 'utf8')))).toEqual(certificates.map(plain));
  // Scripts run as other users.
  for (const path of [added, policies, ...files]) expect(statSync(path).mode & 0o444).toBe(0o444);
  expect(statSync(directory).mode & 0o005).toBe(0o005);
  expect(trust).toMatchObject({ problems: [], browserFiles: new Map() });
});

it('creates the database that Chromium reads, and gives the reason if it cannot', async (context) => {
  const executablePath = await findBrowser({}).then(
    (found) => found.executablePath,
    (error: unknown) => {
      if (error instanceof BrowserMissing) return context.skip(error.message);
      throw error;
    },
  );
  const directory = join(parent, 'browser');
  const trust = await prepareScriptTrust({ directory, certificates, executablePath });
  expect(trust.problems).toEqual([]);
  expect([...trust.browserFiles.keys()]).toEqual(['.pki/nssdb/cert9.db', '.pki/nssdb/key4.db']);
  // The library repeatedly waits for the disk: no disk is needed.
  const { TMPDIR } = process.env;
  process.env.TMPDIR = join(parent, 'missing');
  const inMemory = await prepareScriptTrust({ directory, certificates, executablePath });
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  expect(inMemory.problems).toEqual([]);
  const broken = ['-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n'];
  const other = await prepareScriptTrust({ directory, certificates: broken, executablePath });
  expect(other.problems).toEqual([
    { part: 'browser-trust', text: expect.stringContaining('browsers do not trust') },
  ]);
  expect(other.browserFiles.size).toBe(0);
});
