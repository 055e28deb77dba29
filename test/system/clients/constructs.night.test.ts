import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import { type ClientStage, openClientStage } from '../../helpers/clients/client-stage.ts';
import { installedClients } from '../../helpers/clients/installed-clients.ts';
import { callProvider, smsProvider } from '../../integration/conformance/channel-receivers/phone.ts';

type Body = Readonly<Record<string, unknown>>;
interface Declared {
  readonly type: string;
  readonly logicalId: string;
  readonly payload: Body | null;
}

/** API paths that show a resource of the type. */
const pathOf: Readonly<Record<string, string>> = {
  check: '/v1/checks',
  'check-group': '/v1/check-groups',
  'alert-channel': '/v1/alert-channels',
  'maintenance-window': '/v1/maintenance-windows',
  dashboard: '/v1/dashboards',
  'private-location': '/v1/private-locations',
  'status-page-service': '/v1/status-pages/services',
  'status-page': '/v1/status-pages',
  'status-page-component': '/v1/status-pages/components',
  'status-page-automation-rule': '/v1/status-pages/automation-rules',
};
const isPaged = /checks|alert-channels/;
/** Base classes, and aliases. */
const isNoConstruct = /^(AlertChannel|Check|Monitor|Project|RuntimeCheck|RepairableRuntimeCheck)$|Ref$/;

/** Fields that are shown differently from how they were written. */
const shownDifferently = [
  // Credentials are never shown.
  'alert-channel opsgenie config.apiKey',
  'alert-channel pagerduty config.serviceKey',
  'alert-channel webhook config.webhookSecret',
  'check api environmentVariables.1.value',
  'check api request.basicAuth.password',
  'check browser environmentVariables.1.value',
  'check multi-step environmentVariables.1.value',
  'check suite environmentVariables.1.value',
  'check-group group apiCheckDefaults.basicAuth.password',
  'check-group group environmentVariables.1.value',
  'check-group group environmentVariables.2.value',
  // A condition is shown as a list of one, and an index of a shared file as that file.
  'check api retryStrategy.onlyOn',
  'check url retryStrategy.onlyOn',
  'check browser dependencies.0',
  'check multi-step dependencies.0',
  // The version of the command line's group construct: there is only one kind of group here.
  'check-group group v',
  // Colors are shown in upper case.
  'status-page shop-status themeColors.light.linkFontColor',
];

let stage: ClientStage;

beforeAll(async () => {
  const provider = 'https://phone.example.com';
  const alerting = ServiceConfig.parse({
    SLACK_BOT_TOKEN: 'bot-token',
    SMS_PROVIDER: smsProvider(provider),
    CALL_PROVIDER: callProvider(provider),
  });
  stage = await openClientStage({ alerting }, 'every-construct');
  stage.harness.startDeployments();
}, 300_000);

afterAll(() => stage[Symbol.asyncDispose]());

async function output(...args: string[]): Promise<string> {
  const end = await stage.run(args);
  expect(end.exitCode, end.output).toBe(0);
  return end.output;
}

/** The resources that the command line sends for the project's files. */
async function declared(): Promise<readonly Declared[]> {
  const office = `${stage.office.id}:office`;
  const text = await output('debug', 'parse-project', '--inject-private-location', office);
  const { payload, diagnostics } = JSON.parse(text.slice(0, text.lastIndexOf('}') + 1));
  expect(diagnostics.fatal, text).toBe(false);
  return payload.resources.filter((one: Declared) => one.payload !== null && one.type in pathOf);
}

async function readBack(resources: readonly Declared[]): Promise<Map<Declared, Body>> {
  const lists = new Map<string, readonly Body[]>();
  const read = new Map<Declared, Body>();
  for (const one of resources) {
    const path = pathOf[one.type] ?? '';
    const answer = lists.get(path) ?? (await entriesAt(path));
    lists.set(path, answer);
    const entry = answer.find(({ logicalId }) => logicalId === one.logicalId);
    if (!entry) throw new Error(`${one.type} ${one.logicalId} is not at ${path}`);
    read.set(one, (await stage.harness.call('GET', `${path}/${entry.dashboardId ?? entry.id}`)).body);
  }
  return read;
}

async function entriesAt(path: string): Promise<readonly Body[]> {
  const { status, body } = await stage.harness.call('GET', isPaged.test(path) ? `${path}?limit=100` : path);
  expect([path, status, body]).toEqual([path, 200, body]);
  return Array.isArray(body) ? body : body.entries;
}

/**
 * Paths of fields that are shown differently from how they were written, or not at all. References are shown as ids.
 */
function differences(written: unknown, shown: unknown, path: readonly string[] = []): string[] {
  if (typeof written !== 'object' || written === null) {
    return written === shown ? [] : [path.join('.')];
  }
  if ('ref' in written) return shown === null || shown === undefined ? [path.join('.')] : [];
  return Object.entries(written).flatMap(([name, value]) =>
    differences(value, (shown as Body | null | undefined)?.[name], [...path, name]),
  );
}

const ofSuite = ['codeBundlePath', 'cacheHash'];
function allDifferences(read: ReadonlyMap<Declared, Body>): string[] {
  const found = [...read].flatMap(([{ type, logicalId, payload }, shown]) =>
    differences(payload, shown)
      // Location of the bundle: a local path before the upload.
      .filter((path) => !ofSuite.includes(path))
      .map((path) => `${type} ${logicalId} ${path}`),
  );
  return found.sort();
}

it('deploys every construct with every field, finds no drift, changes and destroys each', async () => {
  const first = await declared();
  expect(await output('deploy', '--force', '--output')).toContain('Successfully deployed');
  expect(allDifferences(await readBack(first))).toEqual([...shownDifferently].sort());
  expect(await output('deploy', '--preview')).not.toMatch(/Create:|Update|Delete:/);

  for (const name of readdirSync(stage.projectFolder).filter((file) => file.endsWith('.ts'))) {
    const file = join(stage.projectFolder, name);
    const text = readFileSync(file, 'utf8');
    const changed = text
      .replaceAll(/\b(name|header): '/g, "$1: 'New ")
      .replaceAll('sslExpiryThreshold: 12', 'sslExpiryThreshold: 13');
    writeFileSync(file, changed);
  }
  const second = await declared();
  const preview = await output('deploy', '--preview');
  expect(preview).not.toMatch(/Create:|Delete:/);
  for (const { logicalId } of second) expect(preview).toMatch(new RegExp(`: ${logicalId}\\n`));
  expect(await output('deploy', '--force', '--output')).toContain('Successfully deployed');
  expect(allDifferences(await readBack(second))).toEqual([...shownDifferently].sort());
  expect(await output('deploy', '--preview')).not.toMatch(/Create:|Update|Delete:/);

  expect(await output('destroy', '--force')).toContain('successfully deleted');
  for (const path of Object.values(pathOf)) {
    const left = await entriesAt(path);
    expect([path, left.filter(({ slugName }) => slugName !== 'office')]).toEqual([path, []]);
  }
}, 600_000);

it('has a row of the page for each construct of the package, and the project contains each that works', async () => {
  const modules = await installedClients();
  const index = pathToFileURL(join(modules, 'checkly/dist/constructs/index.js')).href;
  const exported = (await import(index)) as Readonly<Record<string, unknown>>;
  const { Construct } = await import(new URL('construct.js', index).href);
  const constructs = Object.entries(exported)
    .filter(([, value]) => typeof value === 'function' && value.prototype instanceof Construct)
    .map(([name, value]) => ({ name, own: (value as { readonly name: string }).name }))
    .filter(({ name }) => !isNoConstruct.test(name));

  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/clients.md'), 'utf8');
  const [, section = ''] = page.split('## Its constructs');
  const rows = section
    .split('\n## ')[0]
    ?.split('\n')
    .map((line) => /^\| `(\w+)` \| (yes|no) \|/.exec(line))
    .filter((match) => match !== null)
    .map(([, name, works]) => ({ name, works }));
  expect(rows?.map(({ name }) => name).sort()).toEqual(constructs.map(({ name }) => name).sort());

  const folder = stage.projectFolder;
  const project = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  const ownNames = new Map(constructs.map(({ name, own }) => [name, own]));
  for (const { name = '', works } of rows ?? []) {
    const isMade = [name, ownNames.get(name)].some((one) => project.includes(`new ${one}(`));
    expect([name, isMade || impliedConstructs.has(name)]).toEqual([name, works === 'yes']);
  }
});

/** Constructs that the command line derives from others; `CheckGroup` is one of two, by its options. */
const impliedConstructs = new Set([
  'AlertChannelSubscription',
  'PrivateLocationCheckAssignment',
  'PrivateLocationGroupAssignment',
  'CheckGroup',
  'HeartbeatCheck',
  'TcpCheck',
]);
