import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { parseCheck } from '../../../src/cli/check-file.ts';
import { readAccount } from '../../../src/cli/deploy/account.ts';
import { exportCommand } from '../../../src/cli/deploy/export-command.ts';
import { canonicalFile } from '../../../src/cli/project/canonical.ts';
import { EnvironmentValue, mapEnvironmentValues } from '../../../src/cli/project/environment-values.ts';
import { exportAccount } from '../../../src/cli/project/export.ts';
import { readProject, yamlText } from '../../../src/cli/project/files.ts';
import { kindOf } from '../../../src/cli/project/kinds.ts';
import { pathOf } from '../../../src/cli/project/project.ts';
import { problemsOf } from '../../../src/cli/project/validate.ts';
import { generatedAccount } from '../../helpers/cli/generated-account.ts';
import { makeAccount } from '../../helpers/cli/make-account.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let url: string;
let folder: string;
beforeAll(async () => {
  harness = await openHarness();
  url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'picket-export-'));
});
afterAll(async () => {
  await harness.close();
  await rm(folder, { recursive: true });
});

const numRuns = Number(process.env['PICKET_ACCOUNTS'] ?? 25);
let count = 0;

it(`writes ${numRuns} accounts as files that are whole, valid, as short as can be, and free of secrets`, async () => {
  await fc.assert(
    fc.asyncProperty(generatedAccount, async (account) => {
      const { key } = await harness.addAccount();
      await makeAccount(harness, key, account);
      const api = new ApiClient({ PICKET_URL: url, PICKET_API_KEY: key });
      count += 1;
      const target = join(folder, String(count));
      await exportCommand(api, target, { project: 'p' });
      const project = await readProject(target);
      const { definitions, missing } = exportAccount(await readAccount(api, () => undefined));
      expect(new Map(project.definitions.map((one) => [pathOf(one), yamlText(one.fields)]))).toEqual(
        new Map(definitions.map((one) => [pathOf(one), yamlText(one.fields)])),
      );
      expect(definitions).toHaveLength(account.calls.length);
      expect(problemsOf(project)).toEqual([]);
      const variables: string[] = [];
      for (const { folder, fields } of project.definitions) {
        const hidden = mapEnvironmentValues(fields, ({ name }) => void variables.push(name));
        expect(JSON.stringify(hidden)).not.toMatch(/hooks\.slack|123456:ABC|u:p@|"p"/);
        // Nothing more could be left out, and what is left out is what the API has without it.
        const kind = kindOf(folder);
        const short = mapEnvironmentValues(fields, () => '');
        const again = mapEnvironmentValues(canonicalFile(kind, fields), (one) => one);
        expect(JSON.stringify(again).length).toBeLessThanOrEqual(JSON.stringify(short).length + 30);
      }
      expect(variables.toSorted()).toEqual(missing.map(({ variable }) => variable).toSorted());
    }),
    { numRuns },
  );
});

it('exports what "picket run" takes', async () => {
  const { key } = await harness.addAccount();
  await harness.call('POST', '/v1/check-groups', { name: 'Shop' }, { key });
  const groups = await harness.call('GET', '/v1/check-groups', undefined, { key });
  const body = {
    ...{ name: 'Cart', groupId: groups.body[0].id, request: { url: 'https://example.com/' } },
    environmentVariables: [{ key: 'TOKEN', value: 'hidden', secret: true }],
  };
  await harness.call('POST', '/v1/checks/api', body, { key });
  const target = join(folder, 'run');
  const shown = await exportCommand(new ApiClient({ PICKET_URL: url, PICKET_API_KEY: key }), target, {});
  expect(shown.lines(80).join('\n')).toContain('CART_TOKEN  checks/cart.yaml environmentVariables.TOKEN');
  const text = await readFile(join(target, 'checks/cart.yaml'), 'utf8');
  expect(text).toContain('group: shop');
  expect(text).toContain('!env CART_TOKEN');
  expect(text).not.toContain('hidden');
  expect(() => parseCheck('cart.yaml', text, {})).toThrow('CART_TOKEN');
  expect(parseCheck('cart.yaml', text, { CART_TOKEN: 'given' })).toMatchObject({
    ...{ name: 'Cart', variables: { TOKEN: 'given' }, secretNames: ['TOKEN'], groupName: 'shop' },
  });
  await expect(
    exportCommand(new ApiClient({ PICKET_URL: url, PICKET_API_KEY: key }), target, {}),
  ).rejects.toThrow('new or empty folder');
  expect(new EnvironmentValue('X').name).toBe('X');
});
