import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { deployCommand, planCommand } from '../../../src/cli/deploy/deploy-command.ts';
import { exportCommand } from '../../../src/cli/deploy/export-command.ts';
import type { MissingValue } from '../../../src/cli/project/export.ts';
import { readProject, writeProject } from '../../../src/cli/project/files.ts';
import type { ResourceApi } from '../../../src/protocol/http/resource.ts';
import { kinds } from '../../../src/protocol/projects/kinds.ts';
import { resources } from '../../../src/service/resources/index.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { type ResourceSample, sampleOf } from './resource-samples/resource-sample.ts';

const all = Object.entries(resources).flatMap(([name, { api }]) => {
  const kind = kinds.find(({ routes }) => routes === (api as ResourceApi).routes);
  return kind ? [[kind.folder, { name, kind, api: api as ResourceApi }] as const] : [];
});

let harness: ServiceHarness;
let url: string;
let folder: string;
beforeAll(async () => {
  harness = await openHarness();
  harness.startDeployments();
  url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'picket-kinds-'));
});
afterAll(async () => {
  await harness?.close();
  await rm(folder, { recursive: true });
});

/** Commands for each plain account resource that is kept as code. */
describe.each(all)('files in %s', (_folder, { name, kind, api }) => {
  let sample: ResourceSample;
  let client: ApiClient;
  let key: string;
  let count = 0;
  beforeAll(async () => {
    sample = await sampleOf(name, api);
    ({ key } = await harness.addAccount());
    client = new ApiClient({ PICKET_URL: url, PICKET_API_KEY: key });
  });

  const definition = (fields: ResourceSample['bodies'][0]) =>
    ({ folder: kind.folder, logicalId: 'one', fields }) as const;
  const written = async (fields?: ResourceSample['bodies'][0]) => {
    count += 1;
    const path = join(folder, `${name}-${count}`);
    const definitions = fields ? [definition(fields)] : [];
    await writeProject(path, { logicalId: name, name, definitions });
    return path;
  };
  const plan = async (path: string, environment = {}) =>
    (await planCommand(client, path, {}, environment)).lines(200);
  const same = ['No changes: the account matches the files.'];
  const file = `${kind.folder}/one.yaml`;

  it('are deployed, changed and deleted, and planned without a difference in between', async () => {
    const [first] = sample.bodies;
    const path = await written(first);
    expect(await plan(path)).toEqual([`+ ${file}  create`, '', '1 to create.']);
    await deployCommand(client, path, {}, {});
    expect(await plan(path)).toEqual(same);
    const list = () => harness.call('GET', api.routes.list.path, undefined, { key });
    expect((await list()).body).toMatchObject([{ logicalId: 'one', project: { logicalId: name } }]);

    const changed = await written({ ...first, ...sample.change });
    if (sample.change) expect((await plan(changed))[0]).toBe(`~ ${file}  update`);
    await deployCommand(client, changed, {}, {});
    expect(await plan(changed)).toEqual(same);

    const emptied = await written();
    expect((await plan(emptied))[0]).toBe(`- ${file}  delete`);
    await deployCommand(client, emptied, { yes: true }, {});
    expect((await list()).body).toEqual([]);
  });

  it('are exported, and the export is planned without changes', async () => {
    const [, second] = sample.bodies;
    const made = await harness.call('POST', api.routes.create.path, second, { key });
    expect(made.status).toBe(201);
    const path = join(folder, `${name}-exported`);
    const { json } = await exportCommand(client, path, { project: `${name}-exported`, adopt: true });
    const { definitions } = await readProject(path);
    expect(definitions.map((one) => one.folder)).toEqual([kind.folder]);
    const { valuesToGive } = json as { readonly valuesToGive: readonly MissingValue[] };
    const environment = Object.fromEntries(
      valuesToGive.map(({ variable, field }) => [variable, String(second[field])]),
    );
    expect(await plan(path, environment)).toEqual(same);
  });
});
