import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Store } from '../../../src/platform/store/store.ts';
import { openStore } from '../../../src/server/compose.ts';
import { addAccount } from '../../../src/service/accounts/accounts.ts';
import type { AlertChannel } from '../../../src/service/alerts/channels/store.ts';
import { storeAlert } from '../../../src/service/alerts/raise.ts';
import type { AlertRow } from '../../../src/service/alerts/tables.ts';
import { type PicketProcess, startPicket } from '../picket-process.ts';
import { quietLogger, temporaryFolder } from './service.ts';

export interface KillCampaign {
  readonly databaseUrl: string;
  readonly kills: number;
  /** Maximum time that a service may notify before it is killed. */
  readonly lifeMs: number;
  /** Number of services at a time. */
  readonly processes: number;
  /** No kill after this time, in milliseconds of `performance.now()`. */
  readonly endsAt?: number;
  progress?(text: string): void;
}

/** The notifications of a campaign, once all is over. */
export interface CampaignOutcome {
  readonly kills: number;
  readonly notifications: number;
  /** Notifications that no receiver accepted. */
  readonly lost: number;
  /** Notifications that a receiver accepted more than once. */
  readonly repeated: number;
  /** Requests without a recorded attempt: a notification was sent twice in one attempt. */
  readonly unexplained: number;
  /** Attempts that were restarted because their process was killed. */
  readonly takenOver: number;
  readonly startMs: readonly number[];
}

const accountCount = 8;
const channelsOfAccount = 3;
/** Share of the requests that are refused with 503 and retried. */
const refusedPart = 0.03;
/** More than a killed process holds: its notifications are released only after a minute. */
const maxWaiting = 1_000;

/**
 * Runs services on one PostgreSQL that are killed with SIGKILL at random moments while they notify, and restarts them.
 * Meanwhile alerts are stored continuously, as by ingested results. At the end, one service has as much time as it
 * needs to send all remaining notifications.
 */
export async function killNotifyingServices(campaign: KillCampaign): Promise<CampaignOutcome> {
  const { databaseUrl, kills, lifeMs, processes, endsAt = Number.POSITIVE_INFINITY } = campaign;
  const requests = new Map<string, { taken: number; refused: number }>();
  const server = createServer((request, response) => {
    const id = String(request.headers['x-service-notification-id']);
    const known = requests.get(id) ?? { taken: 0, refused: 0 };
    requests.set(id, known);
    const isRefused = Math.random() < refusedPart;
    known[isRefused ? 'refused' : 'taken'] += 1;
    request.resume();
    setTimeout(() => response.writeHead(isRefused ? 503 : 200).end(), Math.random() * 60);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const folder = temporaryFolder();
  const running = new Set<PicketProcess>();
  const store = await openStore({ databaseUrl, path: '', logger: quietLogger });
  const startMs: number[] = [];
  let begun = 0;
  let killed = 0;
  let isFed = true;
  const start = async () => {
    const startedAt = performance.now();
    const one = startPicket(['service'], {
      PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: databaseUrl,
      DATA_DIR: folder.path,
      EGRESS_ALLOW: '127.0.0.1',
      ALERTS_PER_MINUTE: '0',
      // Compiling its code is half of the cost of a start.
      NODE_COMPILE_CACHE: join(folder.path, 'compiled'),
    });
    running.add(one);
    one.ended.finally(() => running.delete(one));
    while (!/"address":/.test(one.output())) {
      if (one.child.exitCode !== null) throw new Error(one.output());
      await sleep(10);
    }
    startMs.push(performance.now() - startedAt);
    return one;
  };
  try {
    const channels = await makeChannels(store, url);
    // Only a process that exits by itself leaves its compiled code to the others.
    await (await start()).kill('SIGTERM');
    const feeding = (async () => {
      for (let stored = 0; isFed; ) {
        // A new process always has work, and the last one does not have too much.
        if (stored - requests.size < maxWaiting) stored += await storeSomeAlerts(store, channels);
        await sleep(50);
      }
    })();
    const killing = async () => {
      while (begun < kills && performance.now() < endsAt) {
        begun += 1;
        const one = await start();
        await sleep(Math.random() * lifeMs);
        killed += 1;
        await one.kill('SIGKILL');
        if (killed % 50 === 0) campaign.progress?.(`${killed} kills, ${requests.size} notifications`);
      }
    };
    await Promise.all(Array.from({ length: processes }, killing));
    isFed = false;
    await feeding;
    await start();
    // Notifications of a killed process are released after a minute; refused ones are retried later.
    while ((await store.notifications.nextDueAt()) !== null) await sleep(500);
    return { ...(await judge(store, channels, requests)), kills: killed, startMs };
  } finally {
    isFed = false;
    for (const one of running) await one.kill('SIGKILL');
    await store.close();
    server.closeAllConnections();
    server.close();
    folder.remove();
  }
}

async function makeChannels(store: Store, url: string): Promise<AlertChannel[]> {
  const now = systemClock.wallMs();
  const made: AlertChannel[] = [];
  for (let account = 0; account < accountCount; account += 1) {
    const { accountId } = await addAccount(store, systemClock, `account ${account}`);
    for (let channel = 0; channel < channelsOfAccount; channel += 1) {
      // It needs no thread for templates, which would hardly be ready within a short life.
      const definition = { config: { url, channel: null }, sendFailure: true };
      const row = { type: 'SLACK', definition: JSON.stringify(definition), created: now, updated: null };
      made.push(await store.alertChannels.insert({ account_id: accountId, ...row }));
    }
  }
  return made;
}

/**
 * Stores one alert for each account, for all of its channels.
 *
 * @returns the number of notifications.
 */
async function storeSomeAlerts(store: Store, channels: readonly AlertChannel[]): Promise<number> {
  const now = systemClock.wallMs();
  for (const [accountId, own] of Map.groupBy(channels, (channel) => channel.accountId)) {
    const facts = { checkName: 'Shop', checkType: 'URL', tags: [], reminder: 0, certificate: null };
    const alert: AlertRow = {
      id: randomUUID(),
      account_id: accountId,
      check_id: randomUUID(),
      alert_type: 'ALERT_FAILURE',
      notice: 'failure',
      result_id: null,
      facts: JSON.stringify({ ...facts, error: 'refused', runLocation: 'lab', startedAt: now }),
      created: now,
    };
    await store.transaction((repositories) => storeAlert(repositories, alert, own));
  }
  store.signals.send([{ kind: 'alerts' }]);
  return channels.length;
}

async function judge(
  store: Store,
  channels: readonly AlertChannel[],
  requests: ReadonlyMap<string, { readonly taken: number; readonly refused: number }>,
) {
  let [notifications, lost, repeated, unexplained, takenOver] = [0, 0, 0, 0, 0];
  for (const accountId of new Set(channels.map((channel) => channel.accountId))) {
    for (let offset = 0; ; offset += 1_000) {
      const filter = { accountId, from: 0, to: Number.MAX_SAFE_INTEGER };
      const page = await store.notifications.list(filter, { limit: 1_000, offset });
      if (page.notifications.length === 0) break;
      for (const { id, status, tries } of page.notifications) {
        const { taken, refused } = requests.get(id) ?? { taken: 0, refused: 0 };
        notifications += 1;
        if (taken === 0 || status !== 'SUCCESS') lost += 1;
        if (taken > 1) repeated += 1;
        unexplained += Math.max(0, taken + refused - tries);
        takenOver += Math.max(0, tries - 1 - refused);
      }
    }
  }
  return { notifications, lost, repeated, unexplained, takenOver };
}
