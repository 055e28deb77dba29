import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { parseCheck } from '../../../src/cli/check-file.ts';
import { exportCommand } from '../../../src/cli/deploy/export-command.ts';
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

it('exports files that "picket run" accepts', async () => {
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
});
