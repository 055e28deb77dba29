import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foreignNotice } from '../../../src/extras/mcp/answers.ts';
import { Toolbox } from '../../../src/extras/mcp/toolbox.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { type InhabitedAccount, inhabit } from '../../helpers/service/api-requests/inhabited-account.ts';
import { connectMcp, listening, textsOf } from '../../helpers/service/mcp/client.ts';
import { toolArguments } from '../../helpers/service/mcp/tool-arguments.ts';
import { openHarness, type ServiceHarness, temporaryFolder, until } from '../../helpers/service/service.ts';

const folder = temporaryFolder();
let harness: ServiceHarness;
let account: InhabitedAccount;
let address: string;

beforeAll(async () => {
  harness = await openHarness({ folder: folder.path });
  account = await inhabit(harness);
  await findRootCause();
  await keepSteps();
  address = await listening(harness);
});
afterAll(async () => {
  await harness.close();
  folder.remove();
});

/** Starts the analysis of an error, and waits for all automatic ones. */
async function findRootCause(): Promise<void> {
  const groupId = account.known.idOf('/v1/error-groups/{id}', 0);
  const { body } = await harness.call('POST', `/v1/root-cause-analyses/error-groups/${groupId}`);
  account.known.add('/v1/root-cause-analyses/{}', [body.id]);
  harness.startAnalyses();
  await until('every error is looked into', async () => {
    const pending = await harness.store.analyses.countPending(harness.accountId, 100);
    return pending === 0;
  });
}

/** Stores the steps of a check, as an agentic run leaves them. */
async function keepSteps(): Promise<void> {
  const [checkId = '', resultId = ''] = account.known.of('/v1/check-results/{}/{}')[0] ?? [];
  const steps = {
    account_id: harness.accountId,
    check_id: checkId,
    reason: 'found',
    created: 0,
    result_id: resultId,
  } as const;
  await harness.store.plans.keep({ ...steps, content: '{"steps":[]}' });
}

const allTools = new Toolbox(allRoutes).names;
const running = ['run_checks'];
const writing = allTools.slice(allTools.indexOf('run_checks'));
const reading = allTools.filter((name) => !writing.includes(name));
/** Tools whose objects do not exist in this account. */
const absent = new Set(['read_artifact', 'get_alert_cause']);

const roles = ['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'] as const;

async function withClient<T>(
  role: (typeof roles)[number],
  query: string,
  use: (client: Awaited<ReturnType<typeof connectMcp>>) => Promise<T>,
): Promise<T> {
  const client = await connectMcp(address, { key: await harness.addKey(role), query });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const namesFor = (role: (typeof roles)[number], query: string) =>
  withClient(role, query, async (client) => (await client.listTools()).tools.map(({ name }) => name));

/** The responses of these tools to suitable arguments. */
const answersOf = (role: (typeof roles)[number], query: string, names: readonly string[]) =>
  withClient(role, query, async (client) => {
    const given = toolArguments(account);
    const answers: { name: string; isRefused: boolean; text: string }[] = [];
    for (const name of names) {
      const answer = await client.callTool({ name, arguments: { ...given.get(name) } });
      answers.push({ name, isRefused: answer.isError === true, text: textsOf(answer).join(' ') });
    }
    return answers;
  });

/** The whole database except the times at which keys were last used. */
function stored(): unknown {
  const database = new DatabaseSync(join(folder.path, 'picket.sqlite'), { readOnly: true });
  try {
    const tables = database
      .prepare("select name from sqlite_master where type = 'table' order by name")
      .all();
    return tables.map(({ name }) => {
      const rows = database.prepare(`select * from "${String(name)}"`).all();
      return [name, rows.map(({ last_used: _, ...row }) => JSON.stringify(row)).sort()];
    });
  } finally {
    database.close();
  }
}

describe('tools', () => {
  it('are some fifty with names of one form, and small enough to be read each time', () => {
    const listed = new Toolbox(allRoutes).list({ caller: { role: 'ADMIN' }, wantsToWrite: true });
    expect(listed.length).toBeLessThan(60);
    expect(listed.map(({ name }) => name).filter((name) => !/^[a-z]+(_[a-z]+)+$/.test(name))).toEqual([]);
    const text = JSON.stringify(listed);
    expect(text.length).toBeLessThan(60_000);
    for (const { name, inputSchema } of listed) {
      const named = [...JSON.stringify(inputSchema).matchAll(/"\$ref":"#\/\$defs\/(\w+)"/g)].map(
        ([, one]) => one,
      );
      expect(Object.keys(inputSchema['$defs'] ?? {}), name).toEqual(expect.arrayContaining(named));
      expect(Object.keys(inputSchema.properties ?? {}).length, name).toBeGreaterThan(0);
    }
  });

  it.each(roles)('for %s are those that read, unless others are requested', async (role) => {
    expect(await namesFor(role, '')).toEqual(reading);
  });

  it.each([
    ['ADMIN', [...reading, ...writing]],
    ['READ_WRITE', [...reading, ...writing]],
    ['READ_RUN', [...reading, ...running]],
    ['READ_ONLY', reading],
  ] as const)('for %s with ?write=true are what the key may do', async (role, names) => {
    expect(await namesFor(role, '?write=true')).toEqual(names);
  });

  it('that read respond to a viewer, each of them', async () => {
    const answers = await answersOf('READ_ONLY', '', reading);
    expect(answers.filter(({ name, isRefused }) => isRefused !== absent.has(name))).toEqual([]);
  });

  it('that write refuse a viewer, and change nothing, requested or not', async () => {
    const names = writing.filter((one) => one !== 'describe_check_type');
    for (const query of ['', '?write=true']) {
      const before = stored();
      const answers = await answersOf('READ_ONLY', query, names);
      expect(
        answers.filter(({ isRefused, text }) => !(isRefused && /Refused \(403\): .*READ_ONLY/.test(text))),
      ).toEqual([]);
      // The key of this client is new.
      expect(withoutKeys(stored())).toEqual(withoutKeys(before));
    }
  });

  it('that write are refused on a read-only connection, and explain how to enable them', async () => {
    const before = stored();
    const answer = await withClient('ADMIN', '', (client) =>
      client.callTool({ name: 'create_silence', arguments: { tags: ['a'], minutes: 5 } }),
    );
    expect([answer.isError, textsOf(answer)[0]]).toEqual([true, expect.stringContaining('?write=true')]);
    expect(withoutKeys(stored())).toEqual(withoutKeys(before));
  });

  it('that write act like the operation, with its entry in the audit log', async () => {
    const answers = await answersOf('READ_WRITE', '?write=true', writing);
    expect(answers.filter(({ name, isRefused }) => isRefused !== absent.has(name))).toEqual([]);
    const { body } = await harness.call('GET', '/v1/audit-log?limit=100&operation=createIncident');
    expect(body.entries[0]).toMatchObject({
      operation: 'createIncident',
      outcome: 'DONE',
      address: '127.0.0.1',
    });
  });

  it('mark texts of targets as foreign data', async () => {
    const given = toolArguments(account);
    await withClient('READ_ONLY', '', async (client) => {
      const [notice, result = ''] = textsOf(
        await client.callTool({ name: 'get_check_result', arguments: { ...given.get('get_check_result') } }),
      );
      expect(notice).toBe(foreignNotice);
      expect(JSON.parse(result)).toMatchObject({ hasFailures: true });
    });
  });
});

function withoutKeys(tables: unknown): unknown {
  return (tables as [string, unknown][]).filter(([name]) => !/key/.test(name));
}
