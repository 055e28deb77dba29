import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClientStage, openClientStage } from '../../helpers/clients/client-stage.ts';
import { createCheck } from '../../helpers/service/service.ts';

let stage: ClientStage;

beforeAll(async () => {
  stage = await openClientStage();
}, 300_000);

afterAll(() => stage[Symbol.asyncDispose]());

async function output(...args: string[]): Promise<string> {
  const end = await stage.run(args);
  expect(end.exitCode, end.output).toBe(0);
  return end.stdout;
}

it('knows who it is, and says so when account or key are not those of the service', async () => {
  const { accountId } = stage.harness;
  expect(await output('whoami')).toContain(`You are currently on account "Test" (${accountId}) as test.`);
  const foreign = await stage.run(['whoami'], { account: '00000000-0000-4000-8000-000000000000' });
  expect(foreign).toMatchObject({ exitCode: 1, output: expect.stringContaining('x-checkly-account') });
  const wrong = await stage.run(['whoami'], { key: 'cu_wrong' });
  expect(wrong).toMatchObject({ exitCode: 1, output: expect.stringContaining('Authentication failed') });
});

it('finds the sample project valid', async () => {
  expect(await output('validate')).toContain('Your project is valid.');
});

it('lists checks', async () => {
  const check = await createCheck(stage.harness, { name: 'Home page' });
  expect(JSON.parse(await output('checks', 'list', '--output', 'json'))).toMatchObject({
    data: [{ id: check.id, name: 'Home page' }],
  });
});

it('adds, shows, pulls, changes and removes variables', async () => {
  await output('env', 'add', 'SHOP_URL', 'https://shop.example.com');
  await output('env', 'add', 'SHOP_TOKEN', 'sesame', '--locked');
  expect(await output('env', 'ls')).toContain('SHOP_URL=https://shop.example.com');
  await output('env', 'update', 'SHOP_URL', 'https://new.shop.example.com');
  await output('env', 'pull', 'shop.env', '--force');
  expect((await stage.harness.call('GET', '/v1/variables/SHOP_URL')).body.value).toBe(
    'https://new.shop.example.com',
  );
  await output('env', 'rm', 'SHOP_URL', '--force');
  expect((await stage.harness.call('GET', '/v1/variables/SHOP_URL')).status).toBe(404);
});
