import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClientStage, openClientStage } from '../../helpers/clients/client-stage.ts';
import { commandOf, commandsRunIn } from './command-table.ts';

let stage: ClientStage;
/** Commands that succeeded. */
const ran = new Set<string>();

beforeAll(async () => {
  stage = await openClientStage();
  stage.harness.startDeployments();
}, 300_000);

afterAll(() => stage[Symbol.asyncDispose]());

async function output(...args: string[]): Promise<string> {
  const end = await stage.run(args);
  expect(end.exitCode, end.output).toBe(0);
  ran.add(commandOf(args));
  return end.output;
}

const names = async (path: string) =>
  (await stage.harness.call('GET', path)).body.map((one: { name?: string }) => one.name).sort();

it('previews, deploys, finds no changes, deploys a change, and destroys the project', async () => {
  const preview = await output('deploy', '--preview');
  expect(preview).toContain('Create:');
  expect(await names('/v1/checks')).toEqual([]);
  expect(await output('deploy', '--force', '--output')).toContain('Successfully deployed project');
  const checks = await names('/v1/checks?limit=100');
  expect(checks).not.toEqual([]);
  const before = (await stage.harness.call('GET', '/v1/checks?limit=100')).body;
  const { body: page } = await stage.harness.call('GET', '/v1/public/status-pages/shop-status');
  expect(page.page).toMatchObject({ version: 3, footerText: 'Open day and night.', allowIndexing: false });
  expect(page.page.themeColors.light.linkFontColor).toBe('#0A0');
  expect(page.components).toMatchObject([
    { name: 'Shop', type: 'GROUP', isExpanded: true },
    { name: 'Cart', description: 'Where things wait.', uptime: null },
  ]);
  const { entries: rules } = (await stage.harness.call('GET', '/v1/status-pages/automation-rules')).body;
  expect(rules).toMatchObject([
    {
      ...{
        name: 'The shop has problems',
        tags: ['shop'],
        coolDownWindowMinutes: 0,
        notifySubscribers: false,
      },
      components: [{ targetImpact: 'DEGRADED_PERFORMANCE' }, { targetImpact: 'MAJOR_OUTAGE' }],
    },
  ]);
  expect(await output('deploy', '--preview')).not.toMatch(/Create:|Update|Delete:/);
  expect(await output('deploy', '--force', '--output')).toContain('Successfully deployed project');
  const same = (await stage.harness.call('GET', '/v1/checks?limit=100')).body;
  expect(same).toEqual(before);

  rmSync(join(stage.projectFolder, 'src/endpoints.check.ts'));
  expect(await output('deploy', '--preview')).toContain('Delete:');
  expect(await output('deploy', '--force', '--preserve-resources')).toContain(
    'Successfully deployed project',
  );
  expect(await names('/v1/checks?limit=100')).toEqual(checks);

  expect(await output('destroy', '--force')).toContain('successfully deleted');
  expect((await stage.harness.call('GET', '/next/projects')).body).toEqual([]);
}, 300_000);

it("plans, applies and commits an import of the account's resources", async () => {
  const config = join(stage.projectFolder, 'checkly.config.ts');
  const logicalId = /logicalId: '([^']+)'/.exec(readFileSync(config, 'utf8'))?.[1] ?? '';
  await stage.harness.call('POST', '/next/projects', { logicalId, name: 'Imported' });
  for (const name of ['src/scripts.check.ts', 'src/shop-group.check.ts', 'src/alerting.ts']) {
    writeFileSync(join(stage.projectFolder, name), 'export {};\n');
  }
  // The project automatically creates a check for each such file, in addition to the imported one.
  for (const name of ['home.spec.ts', 'status-page.check.ts']) rmSync(join(stage.projectFolder, 'src', name));
  const left = await names('/v1/checks?limit=100');
  expect(left).not.toEqual([]);
  const { call } = stage.harness;
  const statusPageId = (await call('POST', '/v1/status-pages', { name: 'P', url: 'imported', version: 3 }))
    .body.id;
  const group = await call('POST', '/v1/status-pages/components', { statusPageId, name: 'G', type: 'GROUP' });
  const component = await call('POST', '/v1/status-pages/components', {
    ...{ statusPageId, name: 'C', parentId: group.body.id },
  });
  await call('POST', '/v1/status-pages/automation-rules', {
    ...{ statusPageId, name: 'R', tags: ['shop'], firstUpdate: 'a', lastUpdate: 'b' },
    components: [{ componentId: component.body.id, targetImpact: 'PARTIAL_OUTAGE' }],
  });
  const pageTypes = ['status-page', 'status-page-component', 'status-page-automation-rule'];
  const plan = ['import', 'plan', 'check', 'check-group', 'alert-channel', ...pageTypes, '--root'];
  const uncommitted = async () =>
    (await stage.harness.call('GET', '/next/projects/imports?onlyUncommitted=true')).body.length;
  await output(...plan, '__dropped__');
  expect(await uncommitted()).toBe(1);
  expect(await output('import', 'cancel', '--force')).toContain('Canceled plan');
  expect(await uncommitted()).toBe(0);
  rmSync(join(stage.projectFolder, '__dropped__'), { recursive: true });
  await output(...plan, '__checks__');
  await output('import', 'apply');
  const previewed = await output('deploy', '--preview');
  expect(previewed).not.toContain('Delete:');
  expect(previewed).not.toContain('Create:');
  await output('import', 'commit', '--force');
}, 300_000);

it('has run each command that the table says is run here', () => {
  expect([...ran].sort()).toEqual(commandsRunIn('deploy.test.ts'));
});
