import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '../../src/lib/log.ts';
import type { Signal } from '../../src/platform/store/engine/signals.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { openStore } from '../../src/server/compose.ts';
import { cpuMsOf } from '../helpers/picket-process.ts';
import { type NatsServer, startNats } from '../helpers/service/nats-server.ts';
import { type PostgresServer, startPostgres } from '../helpers/service/postgres.ts';
import { type Bench, numberOption, quantile } from './report.ts';

/** Cost of a signal transport in one round. */
interface Round {
  readonly sentPerSecond: number;
  readonly heardPerSecond: number;
  readonly lost: number;
  readonly databaseCpu: number;
  readonly natsCpu: number;
  readonly ownCpu: number;
  readonly delaysMs: readonly number[];
}

const ways = ['NOTIFY', 'NATS'] as const;
type Way = (typeof ways)[number];

const bench: Bench = {
  usage: '[--rate=500] [--services=4] [--seconds=10] [--rounds=3]',
  title: 'Signals between service processes: NOTIFY and NATS',
  async run(run) {
    const rate = numberOption(run, 'rate', 500);
    const services = numberOption(run, 'services', 4);
    const seconds = numberOption(run, 'seconds', 10);
    const server = await startPostgres();
    await using nats = await startNats();
    const rounds: Record<Way, Round[]> = { NOTIFY: [], NATS: [] };
    try {
      const databaseUrl = await server.createDatabase();
      for (let round = 0; round <= numberOption(run, 'rounds', 3); round += 1) {
        for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
          const url = way === 'NATS' ? `nats://${nats.host}` : undefined;
          await using stage = await openStores(databaseUrl, services, url);
          const measured = await measure({ stores: stage.stores, rate, seconds, server, nats });
          run.progress(`${way}, round ${round}: ${measured.heardPerSecond.toFixed(0)} heard a second`);
          // The first round of each is a warm-up.
          if (round > 0) rounds[way].push(measured);
        }
      }
    } finally {
      await server.stop();
    }
    const middle = (way: Way, of: (round: Round) => number) => quantile(rounds[way].map(of), 0.5);
    const percent = (way: Way, of: (round: Round) => number) => `${(middle(way, of) * 100).toFixed(1)} %`;
    return {
      columns: [
        'way',
        'batches sent/s',
        'heard/s',
        'lost',
        'CPU of PostgreSQL (of one core)',
        'of nats-server',
        'of the services',
        'delay p50 (ms)',
        'p99',
      ],
      rows: ways.map((way) => [
        way,
        middle(way, (round) => round.sentPerSecond).toFixed(0),
        middle(way, (round) => round.heardPerSecond).toFixed(0),
        middle(way, ({ lost }) => lost).toFixed(0),
        percent(way, ({ databaseCpu }) => databaseCpu),
        percent(way, ({ natsCpu }) => natsCpu),
        percent(way, ({ ownCpu }) => ownCpu),
        middle(way, ({ delaysMs }) => quantile(delaysMs, 0.5)).toFixed(2),
        middle(way, ({ delaysMs }) => quantile(delaysMs, 0.99)).toFixed(2),
      ]),
      notes: [
        `Medians of rounds in alternating order. ${services} stores in one process send ${rate} batches a second together, each of one signal that no other is equal to; every batch is heard by ${services - 1} others. Nothing else happens in the database but what idle stores do (leadership, parts of the schedule).`,
      ],
      figures: Object.fromEntries(
        ways.flatMap((way) => [
          [`${way.toLowerCase()}_database_cpu_percent`, (middle(way, (r) => r.databaseCpu) * 100).toFixed(1)],
          [`${way.toLowerCase()}_heard_per_s`, middle(way, (r) => r.heardPerSecond).toFixed(0)],
        ]),
      ),
    };
  },
};
export default bench;

async function openStores(
  databaseUrl: string,
  count: number,
  url: string | undefined,
): Promise<AsyncDisposable & { readonly stores: readonly Store[] }> {
  const logger = createLogger('bench', 'warn');
  const nats = url === undefined ? undefined : { url };
  const stores: Store[] = [];
  for (let index = 0; index < count; index += 1) {
    stores.push(await openStore({ databaseUrl, path: '', logger, nats }));
  }
  return {
    stores,
    [Symbol.asyncDispose]: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
}

async function measure(load: {
  readonly stores: readonly Store[];
  readonly rate: number;
  readonly seconds: number;
  readonly server: PostgresServer;
  readonly nats: NatsServer;
}): Promise<Round> {
  const { stores, rate, seconds, server, nats } = load;
  const sentAtMs = new Map<string, number>();
  const delaysMs: number[] = [];
  const hear = (signal: Signal) => {
    const sentMs = signal.kind === 'tested' ? sentAtMs.get(signal.testSessionId) : undefined;
    if (sentMs !== undefined) delaysMs.push(performance.now() - sentMs);
  };
  const leave = stores.map((store) => store.signals.subscribe(hear));
  const cpu = async () => ({
    database: server.cpuMs(),
    nats: await cpuMsOf(nats.pid()),
    own: process.cpuUsage(),
  });
  const before = await cpu();
  const startMs = performance.now();
  const total = rate * seconds;
  for (let sent = 0; sent < total; sent += 1) {
    const dueMs = startMs + (sent * 1000) / rate;
    const leftMs = dueMs - performance.now();
    if (leftMs > 0) await delay(leftMs);
    sentAtMs.set(`session ${sent}`, performance.now());
    stores[sent % stores.length]?.signals.send([{ kind: 'tested', testSessionId: `session ${sent}` }]);
  }
  const tookMs = performance.now() - startMs;
  // The sending store receives each batch, too.
  for (let count = -1; count !== delaysMs.length; await delay(200)) count = delaysMs.length;
  const after = await cpu();
  const own = process.cpuUsage(before.own);
  for (const end of leave) end();
  const others = delaysMs.length - total;
  return {
    sentPerSecond: (total * 1000) / tookMs,
    heardPerSecond: (others * 1000) / tookMs,
    lost: total * (stores.length - 1) - others,
    databaseCpu: (after.database - before.database) / tookMs,
    natsCpu: (after.nats - before.nats) / tookMs,
    ownCpu: (own.user + own.system) / 1000 / tookMs,
    delaysMs: delaysMs.toSorted((one, other) => one - other).slice(total),
  };
}
