import type { Clock } from '../../../src/lib/clock.ts';
import { addAccount } from '../../../src/service/accounts/accounts.ts';
import type { ServiceHarness } from '../service/service.ts';
import { People } from './deeds.ts';
import { type Deed, flapSettings, type History, pingGraceMs } from './history.ts';
import type { Sent } from './judge.ts';

/** The keys of the receiver that keeps incidents, and of the receiver that it is moved to. */
export const desks = { desk: 'd'.repeat(32), 'moved-desk': 'm'.repeat(32) } as const;

/** One history in progress: its own account, and the notifications of its channels. */
export interface HistoryRun {
  readonly history: History;
  readonly accountId: string;
  readonly checkIds: string[];
  readonly groupId: number | null;
  /** By index of the location. */
  readonly placeIds: readonly string[];
  deskId: number;
  readonly windowIds: Map<number, number>;
  readonly silenceIds: Map<number, string>;
  /** Checks with state in the service; a pass does not affect other checks. */
  readonly remembered: Set<string>;
  readonly sent: Sent[];
  nextDeed: number;
}

/** The histories of a service in progress, and the deeds of people in them. */
export class HistoryRuns {
  readonly #store: ServiceHarness['store'];
  readonly #clock: Clock;
  readonly #beganAt: number;
  readonly #people: People;

  constructor(harness: Pick<ServiceHarness, 'store' | 'clock' | 'ledger'>) {
    this.#store = harness.store;
    this.#clock = harness.clock;
    this.#beganAt = harness.clock.wallMs();
    this.#people = new People(harness);
  }

  /** Creates the account of a history and its initial checks and channels. */
  async begin(history: History): Promise<HistoryRun> {
    const { accountId } = await addAccount(this.#store, this.#clock, 'Test');
    const call = this.#callerOf(accountId);
    const placeIds: string[] = [];
    for (const place of history.deaths.keys()) {
      const made = await call('createPrivateLocation', {}, { name: slugOf(place), slugName: slugOf(place) });
      placeIds.push(made.id);
    }
    const config = { serviceKey: desks.desk };
    const { id: deskId } = await call('createAlertChannel', {}, { type: 'PAGERDUTY', config });
    if (history.hasChat) {
      const hook = { name: 'chat', url: 'http://chat.test/', template: '{}' };
      await call('createAlertChannel', {}, { type: 'WEBHOOK', config: hook });
    }
    const isGrouped = history.checks.some((check) => check.isGrouped);
    const group = isGrouped ? await call('createCheckGroup', {}, { name: 'group' }) : null;
    const historyRun: HistoryRun = {
      ...{ history, accountId, deskId, placeIds, groupId: group?.id ?? null, nextDeed: 0 },
      ...{ checkIds: [], windowIds: new Map(), silenceIds: new Map(), remembered: new Set(), sent: [] },
    };
    for (const [index, { createdAt }] of history.checks.entries()) {
      if (createdAt === 0) await this.#createCheck(historyRun, index);
    }
    return historyRun;
  }

  async #createCheck(historyRun: HistoryRun, index: number): Promise<void> {
    const check = historyRun.history.checks[index];
    if (!check) throw new Error('a history creates a check that it does not have');
    const { isHeartbeat, intervalMs, places, isParallel, escalationMinutes } = check;
    const heartbeat = {
      ...{ period: intervalMs / 60_000, periodUnit: 'minutes' },
      ...{ grace: pingGraceMs / 60_000, graceUnit: 'minutes' },
    };
    const ofRuns = {
      ...{ privateLocations: places.map(slugOf), runParallel: isParallel, frequency: intervalMs / 60_000 },
      ...{
        request: { url: `http://host${check.host}.test/${index}` },
        retryStrategy: null,
        doubleCheck: false,
      },
    };
    historyRun.checkIds[index] = await this.#people.createCheck(
      historyRun.accountId,
      isHeartbeat ? 'HEARTBEAT' : 'URL',
      {
        ...{ name: `check ${index}`, tags: index % 2 === 0 ? ['even'] : [] },
        groupId: check.isGrouped ? historyRun.groupId : null,
        ...(isHeartbeat ? { heartbeat } : ofRuns),
        useGlobalAlertSettings: false,
        alertSettings: {
          flapping: { enabled: check.isFlapWatched, ...flapSettings },
          monitoringGap: { enabled: false },
          ...(escalationMinutes === null
            ? {
                escalationType: 'RUN_BASED',
                runBasedEscalation: { failedRunThreshold: check.threshold },
              }
            : {
                escalationType: 'TIME_BASED',
                timeBasedEscalation: { minutesFailingThreshold: escalationMinutes },
              }),
        },
      },
    );
  }

  /** Performs all deeds that are due. */
  async perform(historyRun: HistoryRun, at: number): Promise<void> {
    const { deeds } = historyRun.history;
    for (let next = deeds[historyRun.nextDeed]; next && next.at <= at; next = deeds[historyRun.nextDeed]) {
      historyRun.nextDeed += 1;
      await this.#do(historyRun, next.deed);
    }
  }

  async #do(historyRun: HistoryRun, deed: Deed): Promise<void> {
    const call = this.#callerOf(historyRun.accountId);
    const iso = (at: number) => new Date(this.#beganAt + at).toISOString();
    const id = 'check' in deed ? historyRun.checkIds[deed.check] : undefined;
    const change = (body: object) => this.#people.updateCheck(historyRun.accountId, String(id), { ...body });
    const isGone = 'check' in deed && deed.kind !== 'create' && id === undefined;
    if (isGone) return;
    switch (deed.kind) {
      case 'create':
        return this.#createCheck(historyRun, deed.check);
      case 'delete':
        await this.#people.deleteCheck(historyRun.accountId, String(id));
        delete historyRun.checkIds[deed.check];
        return;
      case 'mute':
      case 'unmute':
        return change({ muted: deed.kind === 'mute' });
      case 'deactivate':
      case 'activate':
        return change({ activated: deed.kind === 'activate' });
      case 'unsubscribe':
        return change({ alertChannelSubscriptions: [] });
      case 'mute-group':
      case 'unmute-group':
        return this.#changeGroup(historyRun, { muted: deed.kind === 'mute-group' });
      case 'deactivate-group':
      case 'activate-group':
        return this.#changeGroup(historyRun, { activated: deed.kind === 'activate-group' });
      case 'open-window': {
        const effect = deed.isAll ? { silenceAllAlerts: true } : { silenceAlertsTags: ['even'] };
        const times = { startsAt: new Date(this.#clock.wallMs()).toISOString(), endsAt: iso(deed.endsAt) };
        const made = await call('createMaintenanceWindow', {}, { name: 'window', ...times, ...effect });
        historyRun.windowIds.set(deed.window, made.id);
        return;
      }
      case 'delete-window':
        return call('deleteMaintenanceWindow', { id: historyRun.windowIds.get(deed.window) });
      case 'end-window':
        return call(
          'createMaintenanceUpdate',
          { id: historyRun.windowIds.get(deed.window), maintenanceId: 1 },
          { status: 'COMPLETED', description: 'done' },
        );
      case 'silence': {
        const made = await call('createSilence', {}, { checkId: id, endsAt: iso(deed.endsAt) });
        historyRun.silenceIds.set(deed.silence, made.id);
        return;
      }
      case 'end-silence': {
        const silenceId = historyRun.silenceIds.get(deed.silence);
        if (silenceId !== undefined) await call('endSilence', { id: silenceId });
        return;
      }
      case 'move-channel':
        return call(
          'updateAlertChannel',
          { id: historyRun.deskId },
          { config: { serviceKey: desks['moved-desk'] } },
        );
      case 'delete-channel':
        return call('deleteAlertChannel', { id: historyRun.deskId });
    }
  }

  async #changeGroup({ accountId, groupId }: HistoryRun, body: object): Promise<void> {
    if (groupId !== null) await this.#callerOf(accountId)('updateCheckGroup', { id: groupId }, body);
  }

  #callerOf(accountId: string) {
    return (operationId: string, params: object, body?: object) =>
      this.#people.call(accountId, operationId, { ...params }, body && { ...body });
  }
}

/** The index of a check by its name; names of checks and locations are derived from indices. */
export const indexOf = (checkName: string) => Number(checkName.replace('check ', ''));
export const slugOf = (place: number) => `lab-${place}`;
export const placeOf = (slug: string | null) => Number(slug?.replace('lab-', ''));
