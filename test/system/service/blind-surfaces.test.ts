import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { isNight } from '../../helpers/night.ts';
import { type PicketProcess, startAgentProcess } from '../../helpers/picket-process.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { type ServiceProcess, startServiceProcess } from '../../helpers/service/service-process.ts';
import { emptyDatabase } from '../../helpers/service/shared-database.ts';
import { type Said, StateSurfaces } from '../../helpers/service/state-surfaces.ts';

const key = 'bootstrap-key-of-the-tests';
const intervalMs = 10_000;
/** Until the second slot can no longer be measured. */
const silenceMs = 3 * intervalMs;
/** Answers that anybody may ask for are kept for so long. */
const keptMs: Readonly<Record<string, number>> = {
  dashboard: 10_000,
  picket_check_state: 3_000,
  picket_check_up: 3_000,
  probe_success: 3_000,
  overview: 2_000,
};
/** Reading takes a moment, and so does the service to record what has ended. */
const slackMs = 3_000;
const rounds = isNight ? 5 : 1;
const noPostgres = whyNoPostgres();
const engines = noPostgres === null && isNight ? ['SQLite', 'PostgreSQL'] : ['SQLite'];

const started: PicketProcess[] = [];
const folders: ReturnType<typeof temporaryFolder>[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill('SIGKILL')));
  for (const folder of folders.splice(0)) folder.remove();
});

/** What is known of a check from its slots alone. */
interface Truth {
  readonly measuredAt: number;
  readonly hasFailed: boolean;
  readonly isUnderWay: boolean;
}

async function truthOf(service: ServiceProcess, id: string, now: number): Promise<Truth> {
  const range = `from=${now - 10 * 60_000}&to=${now + 60_000}&limit=100`;
  const { body } = await service.call('GET', `/v1/checks/${id}/slots?${range}`);
  const slots: { scheduledAt: string; state: string; verdict: string | null }[] = body.entries;
  const newest = slots.find(({ verdict }) => verdict !== null);
  return {
    measuredAt: newest ? Date.parse(newest.scheduledAt) : 0,
    hasFailed: newest?.verdict === 'FAILED',
    isUnderWay: slots.some(({ state }) => state === 'LEASED'),
  };
}

/** What a surface must not say, with the reason; undefined where it may. */
function lieOf(name: string, said: Said | undefined, truth: Truth, readAt: number): string | undefined {
  const ageMs = readAt - truth.measuredAt;
  const lateMs = silenceMs + slackMs + (keptMs[name] ?? 0);
  if (!truth.hasFailed && said === 'failing') return 'failing, and no run said so';
  const saysMeasured = said === 'passing' || said === 'failing' || said === 'degraded';
  if (ageMs > lateMs && !truth.isUnderWay && saysMeasured)
    return `${said}, ${ageMs} ms after the last measurement`;
  if (ageMs < 2 * intervalMs && truth.measuredAt > 0 && said === 'not-measured' && (keptMs[name] ?? 0) === 0)
    return `not measured, ${ageMs} ms after the last measurement`;
  return undefined;
}

it.each(engines)(
  'agents die, drain, move and return: no surface says passing for what is not measured (%s)',
  async (engine) => {
    const folder = temporaryFolder();
    folders.push(folder);
    const target = createServer((request, response) =>
      response.writeHead(request.url === '/bad' ? 503 : 200).end(),
    );
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    await using _ = { [Symbol.asyncDispose]: async () => void target.close() };
    const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    const service = await startServiceProcess(
      {
        ...{ DATA_DIR: folder.path, BOOTSTRAP_API_KEY: key, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'info' },
        ...(engine === 'PostgreSQL' ? { DATABASE_URL: await emptyDatabase() } : {}),
      },
      (process) => started.push(process),
    );
    const make = async (path: string, body: unknown) => {
      const answer = await service.call('POST', path, body);
      expect([answer.status, answer.body?.message]).toEqual([201, undefined]);
      return answer.body;
    };
    const [here, there] = [
      await make('/v1/private-locations', { name: 'here', slugName: 'here' }),
      await make('/v1/private-locations', { name: 'there', slugName: 'there' }),
    ];
    const common = { frequency: 0, frequencyOffset: 10, retryStrategy: null, doubleCheck: false };
    const check = (name: string, privateLocations: string[], path = '', runParallel = false) =>
      make('/v1/checks/url', {
        ...common,
        name,
        privateLocations,
        runParallel,
        request: { url: `${url}${path}` },
      });
    const good = await check('good', ['here']);
    const bad = await check('bad', ['here'], '/bad');
    const both = await check('both', ['here', 'there'], '', true);
    const ids: string[] = [good.id, bad.id, both.id];
    await make('/v1/dashboards', { header: 'D', customUrl: 'wall' });
    const surfaces = new StateSurfaces(service, key, 'wall');
    await surfaces.login();

    const lies: string[] = [];
    let reads = 0;
    /** Reads every surface each second until something is so. */
    const watchUntil = async (
      what: string,
      isSo: (said: Map<string, Map<string, Said>>) => Promise<boolean> | boolean,
    ) => {
      for (let look = 0; ; look += 1) {
        if (look > 120)
          throw new Error(`not within two minutes: ${what}; ${service.process.output().slice(-2000)}`);
        const before = Date.now();
        const said = await surfaces.read(ids);
        const truths = await Promise.all(ids.map((id) => truthOf(service, id, before)));
        for (const [name, byCheck] of said) {
          for (const [index, id] of ids.entries()) {
            reads += 1;
            const lie = lieOf(name, byCheck.get(id), truths[index] as Truth, before);
            if (lie !== undefined) lies.push(`${what}: ${name} of ${['good', 'bad', 'both'][index]}: ${lie}`);
          }
        }
        if (await isSo(said)) return said;
        await sleep(Math.max(0, 1_000 - (Date.now() - before)));
      }
    };
    const all = (said: Map<string, Map<string, Said>>, id: string, wanted: readonly (Said | undefined)[]) =>
      [...said.values()].every((byCheck) => wanted.includes(byCheck.get(id)));
    const start = async (location: { keys: { rawKey: string }[] }) => {
      const agent = await startAgentProcess({ serviceUrl: service.url, key: location.keys[0]?.rawKey ?? '' });
      started.push(agent.process);
      return agent;
    };
    const health = async (location: { id: string }) => await surfaces.locationHealth(location.id);

    for (let round = 0; round < rounds; round += 1) {
      const [first, second] = [await start(here), await start(there)];
      await watchUntil(
        'measured',
        (said) =>
          all(said, good.id, ['passing']) &&
          all(said, bad.id, ['failing']) &&
          all(said, both.id, ['passing']),
      );
      expect(await health(there)).toEqual({ api: 'healthy', page: 'passed' });

      const { code } = await second.process.kill('SIGTERM');
      expect(code).toBe(0);
      expect(await health(there)).toEqual({ api: 'no-agent', page: 'missed' });
      await first.process.kill('SIGKILL');
      await watchUntil('blind', (said) => ids.every((id) => all(said, id, ['not-measured', undefined])));
      await watchUntil('empty', async () => (await health(here)).api === 'no-agent');

      // It moves: the agent comes back at the other location alone.
      const moved = await start(there);
      await watchUntil('one of two', (said) => all(said, both.id, ['passing']));
      const { body } = await service.call('GET', `/v1/check-statuses/${both.id}`);
      expect([body.state, body.notMeasuredAt]).toEqual(['passing', ['here']]);
      expect(await surfaces.pageOf(both.id)).toContain('Not measured at here.');
      const { body: alone } = await service.call('GET', `/v1/check-statuses/${good.id}`);
      expect(alone.state).toBe('not-measured');
      await moved.process.kill('SIGTERM');
    }
    expect(lies).toEqual([]);
    expect(reads).toBeGreaterThan(rounds * 500);
  },
);
