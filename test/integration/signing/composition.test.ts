import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkTypes } from '../../../src/checks/index.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { deployCommand, planCommand } from '../../../src/cli/deploy/deploy-command.ts';
import { writeProject } from '../../../src/cli/project/files.ts';
import type { Definition } from '../../../src/cli/project/project.ts';
import { newKeyCommand } from '../../../src/cli/signing/key-file.ts';
import { capabilitiesOf } from '../../../src/console/locations/capabilities.ts';
import { readPublicKey } from '../../../src/lib/signing/signing-keys.ts';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { codeBundleRoutes } from '../../../src/protocol/agent/code-bundle.ts';
import { judgeRun, readCheckSignature } from '../../../src/protocol/signing/check-signature.ts';
import { openHarness, reportOf, type ServiceHarness, TestAgent } from '../../helpers/service/service.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import type { Samples } from '../conformance/samples/samples.ts';

// The command line signs what the files say, the service leases what it stores: for checks of every type, with
// everything that a group and an account add, both compose the same run.
let harness: ServiceHarness;
let api: ApiClient;
let agent: TestAgent;
let folder: string;
let publicKey = '';
const types = checkTypes.filter(({ pings }) => pings === undefined);
const sign = () => ({ yes: true, sign: join(folder, 'key.pem') });

beforeAll(async () => {
  harness = await openHarness();
  harness.startDeployments();
  const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  api = new ApiClient({ PICKET_URL: url, PICKET_API_KEY: harness.key });
  folder = await mkdtemp(join(tmpdir(), 'picket-composed-'));
  ({ publicKey } = (await newKeyCommand(join(folder, 'key.pem'), {})).json as { publicKey: string });
  await harness.call('POST', '/v1/variables', { key: 'OF_ACCOUNT', value: 'one' });
  await harness.call('POST', '/v1/snippets', { name: 'of others', script: 'others()' });
  await writeProject(join(folder, 'all'), {
    logicalId: 'all',
    name: 'All',
    definitions: await definitions(),
  });
  await deployCommand(api, join(folder, 'all'), sign(), {});
  const { body: places } = await harness.call('GET', '/v1/private-locations');
  const { body: created } = await harness.call('POST', `/v1/private-locations/${places[0].id}/keys`, {});
  agent = new TestAgent(harness, { id: places[0].id, slugName: 'lab', key: created.rawKey });
  await agent.claim({ ...capabilities, freeSlots: { probe: 0, script: 0 } });
});
afterAll(async () => {
  await harness.close();
  await rm(folder, { recursive: true });
});

async function definitions(): Promise<Definition[]> {
  const certificate = await (await createAuthority()).issue();
  const long = `// ${'a long script '.repeat(40)}\n`;
  const checks = await Promise.all(
    types.map(async (type): Promise<Definition> => {
      const { samples } = (await import(`../conformance/samples/${type.route}.ts`)) as {
        readonly samples: Samples;
      };
      const scripts = type.usesLifecycleScripts
        ? { setupSnippet: 'login', localTearDownScript: `${long}teardown();` }
        : {};
      return {
        folder: 'checks',
        logicalId: type.route,
        fields: {
          ...samples.minimal,
          ...scripts,
          ...(type.name === 'PLAYWRIGHT' ? { codeBundlePath: await uploadedBundle() } : {}),
          ...{ checkType: type.name, name: type.route, group: 'web', privateLocations: ['lab'] },
          environmentVariables: [
            { key: 'OWN', value: 'own' },
            { key: 'HIDDEN', value: 'hidden-value', secret: true },
          ],
        },
      };
    }),
  );
  return [
    ...checks,
    {
      folder: 'groups',
      logicalId: 'web',
      fields: {
        name: 'Web',
        setupSnippet: 'login',
        localSetupScript: `${long}setup();`,
        environmentVariables: [{ key: 'OF_GROUP', value: 'group' }],
        apiCheckDefaults: {
          url: 'https://base.test',
          headers: [
            { key: 'x-group', value: 'web' },
            { key: 'x-token', value: 'locked-value', locked: true },
          ],
          assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
        },
      },
    },
    { folder: 'snippets', logicalId: 'login', fields: { name: 'log in', script: `${long}login();` } },
    {
      folder: 'locations',
      logicalId: 'lab',
      fields: { name: 'Lab', slugName: 'lab', proxyUrl: 'http://user:word@proxy.test:3128' },
    },
    { folder: 'variables', logicalId: 'own', fields: { key: 'OF_PROJECT', value: 'project' } },
    {
      folder: 'client-certificates',
      logicalId: 'shop',
      fields: { host: 'shop.test', cert: certificate.cert, key: certificate.key },
    },
  ];
}

async function uploadedBundle(): Promise<string> {
  const body = new Uint8Array(gzipSync('an archive that is not unpacked here'));
  return (await api.call(codeBundleRoutes.uploadCodeBundle, { body })).key;
}

const capabilities = { checkTypes: types.map(({ name }) => name), runtimes: ['2026.04'] };

/** Runs of all checks, or of one, as an agent of the location gets them. */
async function leased(checkId?: string): Promise<ReadonlyMap<string, LeasedRun>> {
  await harness.call('POST', '/v1/check-sessions/trigger', { target: checkId ? { checkId } : {} });
  const runs = await agent.claim({ ...capabilities, freeSlots: { probe: 1000, script: 1000 } });
  await agent.report(runs.map((run) => reportOf(run)));
  return new Map(runs.map((run) => [run.check.name, run]));
}

function judged(run: LeasedRun | undefined) {
  const key = readPublicKey(publicKey) ?? expect.fail('not a key');
  return judgeRun(run ?? expect.fail('not leased'), [key], Date.now());
}

it('composes the same run of each type in the files and in the service', async () => {
  const runs = await leased();
  expect([...runs.keys()].sort()).toEqual(types.map(({ route }) => route).sort());
  for (const [name, run] of runs) expect(judged(run), name).toHaveProperty('run');
  expect(judged(runs.get('api'))).toMatchObject({
    run: {
      location: { name: 'lab', proxyUrl: 'http://user:word@proxy.test:3128' },
      variables: {
        OF_ACCOUNT: 'one',
        OF_PROJECT: 'project',
        OF_GROUP: 'group',
        OWN: 'own',
        HIDDEN: 'hidden-value',
      },
      clientCertificates: [{ host: 'shop.test' }],
      snippets: [{ name: 'log in' }],
    },
  });
  for (const { signature } of runs.values()) {
    expect(signature?.length).toBeLessThan(8_000);
    const text = JSON.stringify(readCheckSignature(signature ?? '')?.statement);
    expect(text).not.toMatch(/hidden-value|locked-value|:word@|PRIVATE KEY|a long script/);
  }
  const plan = await planCommand(api, join(folder, 'all'), sign(), {});
  expect(plan.lines(80)[0]).toBe('No changes: the account matches the files.');
});

it('notices each change that reaches a run, and warns of it before the run', async () => {
  const idsOf = async (path: string) =>
    (await harness.call('GET', path)).body as { id: string; name: string }[];
  const [checks, groups, snippets, places] = await Promise.all(
    ['/v1/checks?limit=100', '/v1/check-groups', '/v1/snippets', '/v1/private-locations'].map(idsOf),
  );
  const apiCheck = checks?.find(({ name }) => name === 'api')?.id ?? '';
  const login = snippets?.find(({ name }) => name === 'log in')?.id;
  const change = async (path: string, body: object) => {
    const answer = await harness.call('PUT', path, body);
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
  };
  const lab = { name: 'Lab', slugName: 'lab' };
  const snippet = (await harness.call('GET', `/v1/snippets/${login}`)).body.script;
  const group = (await harness.call('GET', `/v1/check-groups/${groups?.[0]?.id}`)).body.localSetupScript;
  const hidden = { key: 'HIDDEN', value: '', secret: true };
  const changes: readonly (readonly [path: string, change: object, back: object, field?: RegExp])[] = [
    ['/v1/variables/OF_ACCOUNT', { value: 'two' }, { value: 'one' }],
    [
      `/v1/checks/${apiCheck}`,
      { frequency: 5, tags: ['new'], muted: true },
      { frequency: 10, tags: [], muted: false },
    ],
    [`/v1/checks/${apiCheck}`, { maxResponseTime: 7 }, { maxResponseTime: 20_000 }, /^maxResponseTime$/],
    [
      `/v1/checks/${apiCheck}`,
      { environmentVariables: [{ key: 'OWN', value: 'other' }, hidden] },
      { environmentVariables: [{ key: 'OWN', value: 'own' }, hidden] },
      /^variables\.OWN$/,
    ],
    [
      `/v1/check-groups/${groups?.[0]?.id}`,
      { localSetupScript: 'evil()' },
      { localSetupScript: group },
      /^lifecycle\.setup\.1\.script$/,
    ],
    [`/v1/snippets/${login}`, { script: 'evil()' }, { script: snippet }, /^(?:lifecycle|snippets)/],
    [
      `/v1/private-locations/${places?.[0]?.id}`,
      { ...lab, proxyUrl: 'http://evil.test:1' },
      { ...lab, proxyUrl: 'http://user:word@proxy.test:3128' },
      /^proxies$/,
    ],
  ];
  for (const [path, body, back, field] of changes) {
    await change(path, body);
    const found = judged((await leased(apiCheck)).get('api'));
    if (!field) expect(found, path).toHaveProperty('run');
    else {
      expect(found, path).toMatchObject({ distrust: { reason: 'CHANGED' } });
      const named = 'distrust' in found ? found.distrust.changedFields : [];
      expect(
        named?.filter((one) => !field.test(one)),
        path,
      ).toEqual([]);
    }
    await change(path, back);
    expect(judged((await leased(apiCheck)).get('api')), path).toHaveProperty('run');
  }

  // Agents that trust the key, then one that trusts another, then one that runs everything.
  const warningsWith = async (trustedKeys: unknown) => {
    await agent.claim({ ...capabilities, freeSlots: { probe: 0, script: 0 }, trustedKeys });
    const { body } = await harness.call('GET', `/v1/checks/${apiCheck}`);
    return (body.warnings as { code: string; message: string }[]).filter(({ code }) => code === 'NOT_SIGNED');
  };
  const { id } = readPublicKey(publicKey) ?? expect.fail('not a key');
  expect(await warningsWith([{ id, notAfter: null }])).toEqual([]);
  const { body: listed } = await harness.call('GET', `/v1/private-locations/${places?.[0]?.id}/agents`);
  expect(listed.agents[0].trustedKeys).toEqual([{ id, notAfter: null }]);
  expect(String(capabilitiesOf(listed.agents[0]))).toContain(`Only checks signed with <code>${id}</code>`);
  expect(await warningsWith([{ id: '0'.repeat(16), notAfter: null }])).toEqual([
    expect.objectContaining({ message: expect.stringContaining(`signed with the key ${id}`) }),
  ]);
  // Whatever an account stores as a signature, it gets an answer.
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = part({ alg: 'EdDSA', kid: id, typ: 'picket-check' });
  const deep = Buffer.from(`${'['.repeat(30_000)}${']'.repeat(30_000)}`).toString('base64url');
  for (const payload of [deep, part({ subject: 'a' }), part(null), 'AAAA']) {
    await change(`/v1/checks/${apiCheck}`, { signature: `${header}.${payload}.${'A'.repeat(86)}` });
    expect((await warningsWith([{ id, notAfter: null }]))[0]?.message).toContain('cannot be read');
  }
  const { status } = await harness.call('PUT', `/v1/checks/${apiCheck}`, { signature: 'not a signature' });
  expect(status).toBe(400);
  await change(`/v1/checks/${apiCheck}`, { signature: null });
  expect((await warningsWith([{ id, notAfter: null }]))[0]?.message).toContain('is not signed');
  expect(await warningsWith(null)).toEqual([]);
});
