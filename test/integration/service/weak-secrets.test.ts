import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unmaskableNames } from '../../../src/checks/secrets/secret-finder.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { deployCommand, planCommand } from '../../../src/cli/deploy/deploy-command.ts';
import { writeProject } from '../../../src/cli/project/files.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { loggedIn } from '../../helpers/service/visitor.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
  harness.startDeployments();
});
afterAll(() => harness.close());

const secrets = [
  ['PIN', 'q7x', /^The value of "PIN" is not masked in results and logs: it is shorter than 6 characters\./],
  ['BLANK', '  q7x   ', /shorter than 6 characters/],
  ['WORD', 'Zebra', /"WORD" is not masked .*shorter than 6/],
  ['NAME', 'Zebrafox', /"NAME" is masked in results and logs only as a separate word/],
  ['SCHEME', 'https://', /"SCHEME" is not masked in results and logs: it is too common there/],
] as const;
const strong = 'q7x-29!kLm';

it.each(secrets)(
  'returns a warning about the variable %s, which agents warn about, too',
  async (key, value, says) => {
    for (const flag of ['locked', 'secret']) {
      const { status, body } = await harness.call('POST', '/v1/variables', {
        key: `${key}`,
        value,
        [flag]: true,
      });
      expect([status, body.warnings]).toEqual([
        201,
        [{ code: 'NOT_MASKED', field: 'value', message: expect.stringMatching(says) }],
      ]);
      expect(JSON.stringify(body)).not.toContain(value.trim() === 'https://' ? 'none' : value.trim());
      expect((await harness.call('GET', `/v1/variables/${key}`)).body).toEqual(body);
      const changed = await harness.call('PUT', `/v1/variables/${key}`, { value: strong });
      expect([changed.status, changed.body.warnings]).toEqual([200, []]);
      // A body from a response can be written back.
      const { created_at: _, updated_at: __, id: ___, ...again } = body;
      expect((await harness.call('PUT', `/v1/variables/${key}`, again)).status).toBe(200);
      expect((await harness.call('DELETE', `/v1/variables/${key}`)).status).toBe(204);
    }
    const open = await harness.call('POST', '/v1/variables', { key, value });
    expect(open.body.warnings).toEqual([]);
    expect(unmaskableNames([key], { [key]: value })).toEqual([key]);
    await harness.call('DELETE', `/v1/variables/${key}`);
  },
);

const weakFields = {
  environmentVariables: [
    { key: 'OPEN', value: 'q7x' },
    { key: 'PIN', value: 'q7x', secret: true },
    { key: 'GOOD', value: strong, secret: true },
    { key: 'REF', value: '{{A}}', locked: true },
  ],
};

it('returns one for each hidden value of a check or a group, and shows it next to its field', async () => {
  const created = await harness.call('POST', '/v1/checks/api', {
    ...weakFields,
    name: 'Shop',
    locations: ['eu-west-1'],
    request: {
      method: 'GET',
      url: 'https://example.com/',
      basicAuth: { username: 'u', password: 'z9y' },
      headers: [{ key: 'X-Key', value: 'w8v', locked: true }],
    },
  });
  expect(created.status).toBe(201);
  const check = created.body;
  const fields = ['environmentVariables.1.value', 'request.headers.0.value', 'request.basicAuth.password'];
  const read = await harness.call('GET', `/v1/checks/${check.id}`);
  const found = read.body.warnings.filter(({ code }: { code: string }) => code === 'NOT_MASKED');
  expect(found.map(({ field }: { field: string }) => field).sort()).toEqual(fields.sort());
  expect(JSON.stringify(found)).not.toMatch(/q7x|z9y|w8v/);
  const visitor = await loggedIn(harness);
  const editor = (await visitor.get(`/checks/${check.id}/edit`)).body;
  for (const name of ['PIN', 'X-Key', 'request.basicAuth.password']) {
    const said = `The value of &quot;${name}&quot; is not masked in results and logs: it is shorter than 6 characters. If it is a secret, choose another value.`;
    expect(editor.split(said)).toHaveLength(2);
    const before = editor.slice(0, editor.indexOf(said));
    expect(before.slice(before.lastIndexOf('<input'))).toMatch(
      /Hidden. Leave empty to keep the stored value\. <strong>$/,
    );
  }
  expect((await visitor.get(`/checks/${check.id}`)).body).toContain(
    'The value of &quot;PIN&quot; is not masked',
  );

  const group = (await harness.call('POST', '/v1/check-groups', { name: 'Web', ...weakFields })).body;
  expect(group.warnings).toMatchObject([{ code: 'NOT_MASKED', field: 'environmentVariables.1.value' }]);
  const written = await harness.call('PUT', `/v1/check-groups/${group.id}`, group);
  expect([written.status, written.body.warnings]).toEqual([200, group.warnings]);
  expect((await visitor.get(`/groups/${group.id}/edit`)).body).toContain(
    '<strong>The value of &quot;PIN&quot; is not',
  );

  expect((await visitor.get('/groups')).body).toContain('The value of &quot;PIN&quot; is not masked');
  await harness.call('POST', '/v1/variables', { key: 'PIN', value: 'q7x', secret: true });
  for (const path of ['/settings/variables', '/settings/variables/PIN/details']) {
    expect((await visitor.get(path)).body).toContain('The value of &quot;PIN&quot; is not masked');
  }
});

const url = { checkType: 'URL', name: 'Daily', request: { url: 'http://a.test/' } };
const pausedNever = { mode: 'PAUSE', holidays: ['2099-12-25'] };

it('is printed by picket plan and picket deploy, with the file, as are settings without effect', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'picket-weak-'));
  const address = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  const { key } = await harness.addAccount();
  const api = new ApiClient({ PICKET_URL: address, PICKET_API_KEY: key });
  const definitions = [
    { folder: 'variables', logicalId: 'TOKEN', fields: { key: 'TOKEN', value: 'q7x', secret: true } },
    { folder: 'variables', logicalId: 'OPEN', fields: { key: 'OPEN', value: 'q7x' } },
    { folder: 'groups', logicalId: 'web', fields: { name: 'Web', ...weakFields } },
    {
      folder: 'checks',
      logicalId: 'daily',
      fields: { ...url, frequency: 5, schedule: { cron: '0 3 * * *' }, activeHours: pausedNever },
    },
  ] as const;
  const path = join(folder, 'p');
  const outweighed = (field: string) =>
    expect.stringMatching(new RegExp(`^Warning: checks/daily\\.yaml: "${field}" has no effect: `));
  await writeProject(path, { logicalId: 'p', name: 'p', definitions });
  const warnings = [
    expect.stringMatching(/^Warning: variables\/TOKEN\.yaml: The value of "TOKEN" is not masked/),
    expect.stringMatching(/^Warning: groups\/web\.yaml: The value of "PIN" is not masked/),
    ...['frequency', 'activeHours.mode'].map(outweighed),
  ];
  const plan = await planCommand(api, path, {}, {});
  expect(plan.lines(80).slice(-4).sort().toReversed()).toEqual(warnings);
  const deployed = await deployCommand(api, path, { yes: true }, {});
  expect(deployed.json).toMatchObject({ warnings: [{}, {}, {}, {}], deployment: { status: 'SUCCEEDED' } });
  expect((await planCommand(api, path, {}, {})).lines(80)).toHaveLength(5);
  await rm(folder, { recursive: true });
});
