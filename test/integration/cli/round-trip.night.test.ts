import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { channelKinds } from '../../../src/channels/index.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { deployCommand, planCommand } from '../../../src/cli/deploy/deploy-command.ts';
import { exportCommand } from '../../../src/cli/deploy/export-command.ts';
import type { MissingValue } from '../../../src/cli/project/export.ts';
import { readProject } from '../../../src/cli/project/files.ts';
import { pathOf } from '../../../src/cli/project/project.ts';
import { codeBundleRoutes } from '../../../src/protocol/agent/code-bundle.ts';
import { kinds } from '../../../src/protocol/projects/kinds.ts';
import { openHarness, type ServiceHarness, until } from '../../helpers/service/service.ts';
import { callProvider, smsProvider } from '../conformance/channel-receivers/phone.ts';
import type { Samples } from '../conformance/samples/samples.ts';
import { common } from '../conformance/store-suites/deployed-fields.ts';
import { certificatesOfKinds, parts, resourcesOf } from '../conformance/store-suites/deployed-kinds.ts';

// Two services, because page addresses are unique within one.
let source: ServiceHarness;
let target: ServiceHarness;
let fromApi: ApiClient;
let toApi: ApiClient;
let folder: string;
beforeAll(async () => {
  const provider = 'https://phone.example.com';
  const alerting = { SMS_PROVIDER: smsProvider(provider), CALL_PROVIDER: callProvider(provider) };
  [source, target] = [await openHarness({ alerting }), await openHarness({ alerting })];
  const clients: ApiClient[] = [];
  for (const harness of [source, target]) {
    harness.startDeployments();
    const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
    clients.push(new ApiClient({ PICKET_URL: url, PICKET_API_KEY: harness.key }));
  }
  [fromApi, toApi] = clients as [ApiClient, ApiClient];
  folder = await mkdtemp(join(tmpdir(), 'picket-round-trip-'));
});
afterAll(async () => {
  await source?.close();
  await target?.close();
  await rm(folder, { recursive: true });
});

const ref = (name: string) => ({ ref: name });

/** A check of every type with all references, and one that is minimal. */
async function checksOf(bundle: string) {
  const all = await Promise.all(
    checkTypes.map(async (type) => {
      const { samples } = (await import(`../conformance/samples/${type.route}.ts`)) as {
        readonly samples: Samples;
      };
      const { retryStrategy, ...fields } = common(1);
      const isSuite = type.name === 'PLAYWRIGHT';
      const own = { ...samples.minimal, ...(isSuite ? { codeBundlePath: bundle } : {}) };
      const hidden = [
        { key: 'LOCKED', value: 'hidden', locked: true },
        { key: 'SECRET', value: 'hidden', secret: true },
      ];
      const least = { name: `${type.title} with little`, ...own, checkType: type.name };
      const most = {
        ...{ name: type.title, ...fields, ...own, checkType: type.name, groupId: ref('group') },
        ...(isSuite ? {} : { retryStrategy }),
        ...(type.pings ? {} : { environmentVariables: [...fields.environmentVariables, ...hidden] }),
        ...{ privateLocations: ['office'], locations: ['eu-central-1'] },
        triggerIncident: {
          ...{ serviceId: ref('service'), name: 'Down', description: 'd', severity: 'MAJOR' },
          notifySubscribers: false,
        },
      };
      return [
        { type: 'check', logicalId: `${type.route}-least`, payload: least },
        { type: 'check', logicalId: type.route, payload: most },
        {
          type: 'alert-channel-subscription',
          logicalId: `${type.route}#email`,
          payload: { alertChannelId: ref('email'), checkId: ref(type.route), activated: true },
        },
      ];
    }),
  );
  return all.flat();
}

async function filesIn(path: string): Promise<Record<string, string>> {
  const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  const paths = files.map((one) => join(one.parentPath, one.name)).sort();
  return Object.fromEntries(
    await Promise.all(
      paths.map(async (file) => [file.slice(path.length + 1), await readFile(file, 'base64')] as const),
    ),
  );
}

it('exports one of everything as files without a planned change, there and in another account', async () => {
  const [issued, other] = await certificatesOfKinds();
  const bundle = gzipSync('a suite');
  const { key } = await fromApi.call(codeBundleRoutes.uploadCodeBundle, {
    body: new Uint8Array(bundle),
  });
  const project = { logicalId: 'made', name: 'Made' };
  const resources = [...resourcesOf(1, [issued, other]), ...parts(1), ...(await checksOf(key))].map(
    ({ type, logicalId, payload }) => ({ type, logicalId, payload }),
  );
  const ended = async (path: string, method: string, body?: object) => {
    const started = await source.call(method, path, body);
    expect([started.status, started.body.message]).toEqual([202, undefined]);
    const deployment = await until('it is deployed', async () => {
      const at = `/v1/projects/made/deployments/${started.body.id}`;
      const { body: state } = await source.call('GET', at);
      return state.endedAt === null ? undefined : state;
    });
    expect(deployment.error).toBeNull();
  };
  await ended('/v1/projects/deploy?scheduleOnDeploy=false', 'POST', { project, resources });
  await ended('/v1/projects/made?preserveResources=true', 'DELETE');

  const from = join(folder, 'from');
  const { json } = await exportCommand(fromApi, from, { project: 'p', adopt: true });
  const read = await readProject(from);
  const filled = new Set(read.definitions.map((one) => one.folder));
  expect(kinds.map((kind) => kind.folder).filter((one) => !filled.has(one))).toEqual([]);
  const of = (inFolder: string, field: string) =>
    new Set(read.definitions.filter((one) => one.folder === inFolder).map(({ fields }) => fields[field]));
  expect(checkTypes.filter(({ name }) => !of('checks', 'checkType').has(name))).toEqual([]);
  expect(channelKinds.filter(({ type }) => !of('alert-channels', 'type').has(type))).toEqual([]);
  const { valuesToGive } = json as { readonly valuesToGive: readonly MissingValue[] };
  const samples = new Map<string, string>(
    channelKinds.flatMap(({ type, sample }) =>
      Object.entries(sample as Record<string, unknown>).map(([field, value]) => [
        `${type} config.${field}`,
        String(value),
      ]),
    ),
  );
  const sampleOf = ({ file, field }: MissingValue): string | undefined => {
    const fields = read.definitions.find((one) => file === pathOf(one))?.fields;
    return samples.get(`${String(fields?.['type'])} ${field}`);
  };
  const none = ['No changes: the account matches the files.'];
  // Values that the API never shows remain unchanged; addresses that accept posts from anyone must be provided.
  const addresses = valuesToGive.flatMap((one) =>
    one.field === 'config.url' ? [[one.variable, sampleOf(one) ?? ''] as const] : [],
  );
  const there = await planCommand(fromApi, from, {}, Object.fromEntries(addresses));
  expect(there.lines(80)).toEqual(none);

  const valueFor = (one: MissingValue): string =>
    one.file.startsWith('client-certificates/') ? issued.key : (sampleOf(one) ?? 'http://given.example.com');
  const environment = Object.fromEntries(valuesToGive.map((one) => [one.variable, valueFor(one)]));
  const planned = await planCommand(toApi, from, {}, environment);
  expect(planned.lines(80).at(-1)).toMatch(/^\d+ to create\.$/);
  await deployCommand(toApi, from, { yes: true }, environment);
  expect((await planCommand(toApi, from, {}, environment)).lines(80)).toEqual(none);
  const to = join(folder, 'to');
  await exportCommand(toApi, to, { project: 'p' });
  // Objects without a name have different names in each account; suites are copied byte for byte.
  const [written, again] = [await filesIn(from), await filesIn(to)];
  expect(Object.keys(again)).toHaveLength(Object.keys(written).length);
  const suite = 'suites/playwright-suite.tar.gz';
  expect([again[suite], written[suite]]).toEqual([bundle.toString('base64'), bundle.toString('base64')]);
}, 120_000);
