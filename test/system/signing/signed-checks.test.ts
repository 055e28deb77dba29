import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { deployCommand, planCommand } from '../../../src/cli/deploy/deploy-command.ts';
import { testCommand } from '../../../src/cli/deploy/test-command.ts';
import { writeProject } from '../../../src/cli/project/files.ts';
import type { Definition } from '../../../src/cli/project/project.ts';
import { newKeyCommand } from '../../../src/cli/signing/key-file.ts';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { Target } from '../../helpers/agent/target.ts';
import { createLocation, openHarness, type ServiceHarness, until } from '../../helpers/service/service.ts';

// A service, and an agent that runs only what one key signed.
let harness: ServiceHarness;
let api: ApiClient;
let agent: AgentProcess;
let folder: string;
let keyId: string;
const target = new Target();
const at = (...parts: readonly string[]) => join(folder, ...parts);

beforeAll(async () => {
  harness = await openHarness();
  harness.startDeployments();
  harness.startScheduler();
  const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  await target.listen();
  api = new ApiClient({ PICKET_URL: url, PICKET_API_KEY: harness.key });
  folder = await mkdtemp(join(tmpdir(), 'picket-signed-'));
  const { json } = await newKeyCommand(at('key.pem'), {});
  await newKeyCommand(at('other.pem'), {});
  const { publicKey } = json as { publicKey: string };
  keyId = (json as { keyId: string }).keyId;
  const place = await createLocation(harness, 'lab');
  agent = new AgentProcess({
    SERVICE_URL: url,
    API_KEY: place.key,
    TRUSTED_KEYS: publicKey,
    CHECK_TYPES: 'URL,API',
    EGRESS_ALLOW: '*',
  });
  await agent.logged('connected to the service');
});
afterAll(async () => {
  await agent.kill();
  await target.close();
  await harness.close();
  await rm(folder, { recursive: true });
});

const web: Definition = {
  folder: 'groups',
  logicalId: 'web',
  fields: {
    name: 'Web',
    environmentVariables: [{ key: 'PLACE', value: 'of-group' }],
    apiCheckDefaults: { headers: [{ key: 'x-group', value: 'web' }] },
  },
};
const variable: Definition = {
  folder: 'variables',
  logicalId: 'token',
  fields: { key: 'TOKEN', value: 'one' },
};

/** The files of a project with one check, and what its only check asks for. */
async function deployed(path: string, options: object): Promise<string> {
  const shop: Definition = {
    folder: 'checks',
    logicalId: 'shop',
    fields: {
      checkType: 'API',
      name: 'Shop',
      group: 'web',
      privateLocations: ['lab'],
      frequency: 1440,
      environmentVariables: [{ key: 'SECRET', value: 'password-1', secret: true }],
      request: { method: 'GET', url: target.url(`${path}/{{PLACE}}/{{TOKEN}}/{{SECRET}}`) },
    },
  };
  await rm(at('shop'), { recursive: true, force: true });
  await writeProject(at('shop'), { logicalId: 'shop', name: 'Shop', definitions: [shop, web, variable] });
  await deployCommand(api, at('shop'), { yes: true, ...options }, {});
  const { body } = await harness.call('GET', '/v1/checks');
  return body[0].id;
}

let results = 0;

/** The newest result after one more run of the check. */
async function nextResult(id: string, isTriggered = true) {
  if (isTriggered) await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: [id] } });
  const found = await until('a result', async () => {
    const { body } = await harness.call('GET', `/v1/check-results/${id}?limit=100`);
    return body.length > results && body;
  });
  results = found.length;
  return found[0];
}

it('runs what was signed, and refuses what changed after it', async () => {
  const id = await deployed('/signed', { sign: at('key.pem') });
  expect(await nextResult(id, false)).toMatchObject({ hasErrors: false, hasFailures: false });
  expect(target.requests).toEqual(['/signed/of-group/one/password-1']);

  // The value of a variable of the account is not the signer's.
  await harness.call('PUT', '/v1/variables/TOKEN', { value: 'two' });
  expect(await nextResult(id)).toMatchObject({ hasErrors: false });
  expect(target.requests.at(-1)).toBe('/signed/of-group/two/password-1');

  // A user changes the check by hand.
  const asked = target.requests.length;
  await harness.call('PUT', `/v1/checks/${id}`, { request: { url: target.url('/by-hand') } });
  const refused = await nextResult(id);
  expect(refused).toMatchObject({ hasErrors: true, hasFailures: false, runLocation: 'lab' });
  expect(JSON.stringify(refused)).toContain('CHECK_NOT_TRUSTED');
  expect(JSON.stringify(refused)).toContain('request.url');
  expect(target.requests).toHaveLength(asked);
  expect((await agent.get('/metrics')).body).toContain('picket_agent_refused_runs_total{reason="CHANGED"} 1');

  // Another key, and none.
  await deployed('/other', { sign: at('other.pem') });
  expect(JSON.stringify(await nextResult(id))).toContain('UNKNOWN_KEY');
  await deployed('/unsigned', {});
  expect(JSON.stringify(await nextResult(id))).toContain('UNSIGNED');
  expect(target.requests).toHaveLength(asked);

  // The plan of the same files with the same key has no changes.
  await deployed('/again', { sign: at('key.pem') });
  expect(await nextResult(id)).toMatchObject({ hasErrors: false });
  const plan = await planCommand(api, at('shop'), { sign: at('key.pem') }, {});
  expect(plan.lines(80)).toEqual(['No changes: the account matches the files.']);

  // Values of secrets need not be there to sign; others must be.
  const shop = at('shop', 'checks', 'shop.yaml');
  const written = await readFile(shop, 'utf8');
  expect(written).toContain('password-1');
  await writeFile(shop, written.replace('password-1', '!env SHOP_SECRET'));
  const withoutSecret = await planCommand(api, at('shop'), { sign: at('key.pem') }, {});
  expect(withoutSecret.lines(80)).toEqual(['No changes: the account matches the files.']);
  await writeFile(shop, written.replace(/url: .*/, 'url: !env SHOP_URL'));
  const refusal = planCommand(api, at('shop'), { sign: at('key.pem') }, {});
  await expect(refusal).rejects.toThrow('SHOP_URL: checks/shop.yaml');
  await writeFile(shop, written);

  // Files that are not deployed: the same agent runs them only if they are signed.
  const ofSession = (options: object) => testCommand(api, at('shop'), { location: 'lab', ...options }, {});
  expect(await ofSession({})).toMatchObject({ exitCode: 1 });
  expect(await ofSession({ sign: at('key.pem') })).toMatchObject({ exitCode: 0 });
  expect(target.requests.at(-1)).toBe('/again/of-group/one/password-1');
  // They did not outdate the deployed version.
  expect(await nextResult(id)).toMatchObject({ hasErrors: false });
  expect(keyId).toMatch(/^[0-9a-f]{16}$/);
});
