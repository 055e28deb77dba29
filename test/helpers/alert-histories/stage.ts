import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endedAt } from '../../../src/platform/store/days/ended-day.ts';
import { CauseWatch } from '../../../src/service/alerts/causes/cause-watch.ts';
import { summaryOf } from '../../../src/service/alerts/causes/summary.ts';
import { channelMessage } from '../../../src/service/alerts/delivery/message.ts';
import { storedFacts } from '../../../src/service/alerts/raise.ts';
import { AlertTimers } from '../../../src/service/alerts/timers.ts';
import { type EffectiveCheck, withGroups } from '../../../src/service/checks/effective-check.ts';
import { Heartbeats } from '../../../src/service/heartbeats/heartbeats.ts';
import type { Ping } from '../../../src/service/heartbeats/signals.ts';
import { HeartbeatWatch } from '../../../src/service/heartbeats/watch.ts';
import { beginOutages, endOutage } from '../../../src/service/locations/outages.ts';
import { type FinalResult, storeOutcome } from '../../../src/service/results/settle.ts';
import type { CountedResultRow } from '../../../src/service/results/tables.ts';
import { queuedRun, RunNumbers } from '../../../src/service/runs/due-runs.ts';
import type { RunRow } from '../../../src/service/runs/tables.ts';
import { Sessions } from '../../../src/service/sessions/sessions.ts';
import { ManualClock } from '../manual-clock.ts';
import { openHarness, quietLogger, type ServiceHarness } from '../service/service.ts';
import { urlDetail } from '../service/url-detail.ts';
import { agendaOf, type Miss, nothingDue, type Slot } from './agenda.ts';
import { type History, isDownAt, placesOf, stepMs } from './history.ts';
import { desks, type HistoryRun, HistoryRuns, indexOf, placeOf, slugOf } from './history-run.ts';
import { judged, type Raised, type Verdict } from './judge.ts';

/** Result of one slot of a check at one of its locations. */
interface Report {
  readonly historyRun: HistoryRun;
  readonly checkId: string;
  readonly place: number;
  readonly isDown: boolean;
}

/** A ping without anything to say. */
const plainPing: Ping = {
  ...{ source: 'job', userAgent: null, ending: undefined, status: undefined, message: '' },
  ...{ body: null, isBodyCut: false, runId: null, durationMs: null },
};

/**
 * Runs histories at once, on the parts of the service that decide about alerts: results are stored like those of
 * agents, people call the API, and the alerting jobs run each time that something is due. Only the delivery to
 * receivers is left out: a notification counts as delivered as soon as it is due.
 */
export async function liveThrough(histories: readonly History[]): Promise<Verdict[]> {
  const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const folder = mkdtempSync(join(parent, 'picket-histories-'));
  const clock = new ManualClock();
  const harness = await openHarness({ folder, clock });
  try {
    const stage = new HistoryStage(harness, clock);
    return await stage.run(histories);
  } finally {
    await harness.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

class HistoryStage {
  readonly #harness: ServiceHarness;
  readonly #clock: ManualClock;
  readonly #beganAt: number;
  readonly #timers: AlertTimers;
  readonly #causes: CauseWatch;
  readonly #deeds: HistoryRuns;
  readonly #watch: HeartbeatWatch;
  readonly #heartbeats: Heartbeats;
  #hasHeartbeats = false;
  #nextDeadline = 0;
  readonly #numbers = new RunNumbers();
  readonly #historyRuns = new Map<string, HistoryRun>();
  /** The next time at which something becomes due without an event. */
  #nextTurnAt = 0;

  constructor(harness: ServiceHarness, clock: ManualClock) {
    this.#harness = harness;
    this.#deeds = new HistoryRuns(harness);
    this.#clock = clock;
    this.#beganAt = clock.wallMs();
    const { store } = harness;
    this.#timers = new AlertTimers({ store, clock });
    this.#watch = new HeartbeatWatch({ store, clock, logger: quietLogger });
    this.#heartbeats = new Heartbeats({ store, clock });
    const sessions = new Sessions({ store, clock });
    this.#causes = new CauseWatch({
      ...{ store, clock, metrics: { countGrouped: () => undefined } },
      runNow: (accountId, checkIds) =>
        sessions.startChecks(accountId, { checkIds }, { runSource: 'ALERT_CAUSE' }),
    });
  }

  async run(histories: readonly History[]): Promise<Verdict[]> {
    for (const history of histories) {
      const historyRun = await this.#deeds.begin(history);
      this.#historyRuns.set(historyRun.accountId, historyRun);
    }
    const historyRuns = [...this.#historyRuns.values()];
    // A watch that does not run every few seconds assumes that the service was down.
    this.#hasHeartbeats = histories.some(({ checks }) => checks.some((check) => check.isHeartbeat));
    const endsAt = Math.max(...histories.map((history) => history.endsAt));
    const due = agendaOf(historyRuns);
    for (let at = 0; at <= endsAt; at += stepMs) {
      this.#clock.set(this.#beganAt + at);
      const { deeds, runs, misses, returns } = due.get(at) ?? nothingDue;
      for (const historyRun of deeds) await this.#deeds.perform(historyRun, at);
      for (const miss of misses) await this.#miss(miss);
      for (const { historyRun, place } of returns) await this.#return(historyRun, place);
      const isReported = await this.#report(runs, at);
      const isWatched = this.#hasHeartbeats && (await this.#watched());
      const isChanged = isReported || isWatched || deeds.length + misses.length + returns.length > 0;
      if (isChanged || this.#nextTurnAt <= this.#clock.wallMs()) await this.#takeTurns();
    }
    const verdicts: Verdict[] = [];
    for (const historyRun of historyRuns) {
      verdicts.push(judged(historyRun.history, historyRun.sent, await this.#raised(historyRun)));
    }
    return verdicts;
  }

  /** Runs the watch for missing pings. Returns whether any was due. */
  async #watched(): Promise<boolean> {
    const isDue = this.#nextDeadline <= this.#clock.wallMs();
    this.#nextDeadline = (await this.#watch.turn()) ?? Number.POSITIVE_INFINITY;
    return isDue;
  }

  /** Stores the results of all slots of an instant. Returns whether there were any. */
  async #report(slots: readonly Slot[], at: number): Promise<boolean> {
    const due = slots.flatMap((slot) => this.#dueOf(slot, at));
    const isPinged = await this.#ping(slots, at);
    if (due.length === 0) return isPinged;
    const { store } = this.#harness;
    const checks = await store.checks.findMany([...new Set(due.map(({ checkId }) => checkId))]);
    const effective = new Map(
      (await withGroups(store, [...checks.values()])).map((check) => [check.id, check]),
    );
    const final = due.flatMap((one) => {
      const check = effective.get(one.checkId);
      return check?.activated ? [this.#result(check, one)] : [];
    });
    const now = this.#clock.wallMs();
    await store.transaction((repositories) => storeOutcome(repositories, { final, attempts: [] }, now));
    const states = await store.alerts.statesOfChecks(final.map(({ row }) => row.check_id));
    const remembered = new Set(states.map((row) => row.check_id));
    for (const { historyRun, checkId } of due) {
      if (remembered.has(checkId)) historyRun.remembered.add(checkId);
      else historyRun.remembered.delete(checkId);
    }
    return true;
  }

  #dueOf({ historyRun, index, isFirst }: Slot, at: number): Report[] {
    const { history, checkIds, remembered } = historyRun;
    const checkId = checkIds[index];
    const check = history.checks[index];
    if (checkId === undefined || !check || check.isHeartbeat) return [];
    const isDown = isDownAt(history.outages[check.host] ?? [], at);
    if (!isDown && !isFirst && !remembered.has(checkId)) return [];
    return placesOf(check, at)
      .filter((place) => !isDownAt(history.deaths[place] ?? [], at))
      .map((place) => ({ historyRun, checkId, place, isDown }));
  }

  /** Sends the pings of heartbeats on hosts that are up. Returns whether there were any. */
  async #ping(slots: readonly Slot[], at: number): Promise<boolean> {
    const { store } = this.#harness;
    let isPinged = false;
    for (const { historyRun, index } of slots) {
      const check = historyRun.history.checks[index];
      const checkId = historyRun.checkIds[index];
      if (!check?.isHeartbeat || checkId === undefined) continue;
      if (isDownAt(historyRun.history.outages[check.host] ?? [], at)) continue;
      const timer = await store.heartbeats.find(checkId);
      if (!timer) throw new Error(`there is no timer of check ${index}`);
      await this.#heartbeats.ping(timer.ping_token, plainPing);
      isPinged = true;
    }
    return isPinged;
  }

  /** Records a run that no agent claimed in time. */
  async #miss({ historyRun, index, place, slotAt }: Miss): Promise<void> {
    const { store } = this.#harness;
    const [checkId, locationId] = [historyRun.checkIds[index], historyRun.placeIds[place]];
    const check = checkId === undefined ? undefined : await store.checks.find(historyRun.accountId, checkId);
    const [effective] = check ? await withGroups(store, [check]) : [];
    if (!effective?.activated || locationId === undefined) return;
    const run = { location_id: locationId, slot_at: this.#beganAt + slotAt };
    await store.transaction((repositories) => beginOutages(repositories, [run], this.#clock.wallMs()));
  }

  /** Records that an agent of a location claims again. */
  async #return({ accountId, placeIds }: HistoryRun, place: number): Promise<void> {
    const { store } = this.#harness;
    const location = await store.locations.find(accountId, placeIds[place] ?? '');
    if (!location) throw new Error(`there is no location ${place}`);
    await endOutage(store, { ...location, key_id: 'key' }, this.#clock.wallMs());
  }

  #result(
    check: EffectiveCheck,
    { historyRun, place, isDown }: Report,
  ): FinalResult & { readonly row: CountedResultRow } {
    const now = this.#clock.wallMs();
    const at = { location: slugOf(place), locationId: historyRun.placeIds[place] ?? null, slotAt: now, now };
    const run: RunRow = {
      ...queuedRun(check, { ...at, freshMs: 0, checkRunId: this.#numbers.next(now) }),
      ...{ state: 'final', ...endedAt(now) },
    };
    const { url } = check.definition.request as { url: string };
    const detail = urlDetail(url, '10.0.0.5');
    const row: CountedResultRow = {
      ...{ id: randomUUID(), run_id: run.id, account_id: run.account_id, check_id: run.check_id },
      ...{ check_type: run.check_type, run_location: run.location, result_type: 'FINAL' },
      ...{ has_failures: isDown ? 1 : 0, has_errors: 0, is_degraded: 0, over_max: 0 },
      owner: isDown ? 'target' : null,
      code: isDown ? 'CONNECTION_REFUSED' : null,
      message: isDown ? 'connect ECONNREFUSED' : null,
      failure_details: null,
      ...{ response_time: 10, started: now, stopped: now, created: now, attempts: 1 },
      ...{ sequence_id: run.sequence_id, check_run_id: run.check_run_id, slot_at: run.slot_at },
      ...{ start_delay: 0, agent_lag: 0, agent_overhead: 0, host_started: null, timing_doubtful: 0 },
      ...{ certificate_expires: null, agent_id: 'agent', error_messages: '[]', error_group_ids: '[]' },
      detail: JSON.stringify(detail),
      measured: null,
    };
    return { run, row, target: { host: new URL(url).hostname, address: '10.0.0.5' } };
  }

  /** Runs the alerting jobs until nothing is due. */
  async #takeTurns(): Promise<void> {
    const now = this.#clock.wallMs();
    for (let turn = 0; turn < 200; turn += 1) {
      const times = [await this.#timers.turn(), await this.#causes.turn()].map((at) => at ?? Infinity);
      const isDelivered = await this.#deliver(now);
      this.#nextTurnAt = Math.min(...times);
      if (!isDelivered && this.#nextTurnAt > now) return;
    }
    throw new Error('the jobs of alerting find no end');
  }

  /** Delivers due notifications in order. Returns whether there were any. */
  async #deliver(now: number): Promise<boolean> {
    const { notifications, alerts, alertCauses, alertChannels, receiverIncidents } = this.#harness.store;
    const nobody = { channelIds: [], accountIds: [] };
    const due = await notifications.due(now, 1_000, nobody);
    if (due.length === 0) return false;
    const rows = await notifications.claim(
      due.map(({ position }) => position),
      now,
      now + 1,
    );
    const known = await alerts.findMany(rows.map((row) => row.alert_id));
    for (const row of rows) {
      const alert = known.get(row.alert_id);
      const historyRun = this.#historyRuns.get(row.account_id);
      const former = row.former_channel_id && (await receiverIncidents.findFormer(row.former_channel_id));
      const present = former
        ? (JSON.parse(former.definition) as { config: { serviceKey?: string } })
        : (await alertChannels.find(row.account_id, row.channel_id))?.definition;
      if (alert && historyRun && present) {
        const causes = await alertCauses.findMany(alert.cause_id ? [alert.cause_id] : []);
        const facts = { ...storedFacts(alert), cause: summaryOf(causes.get(alert.cause_id ?? ''), row) };
        const message = channelMessage({
          ...{ id: row.id, alertId: alert.id, type: alert.alert_type, notice: alert.notice },
          ...{ checkId: alert.check_id, filedUnder: row.check_id, resultId: alert.result_id },
          ...{ accountId: alert.account_id, facts, created: alert.created, resultLink: null, pageLink: null },
        });
        const { serviceKey } = (present as { config: { serviceKey?: string } }).config;
        const desk = serviceKey === desks.desk ? 'desk' : 'moved-desk';
        historyRun.sent.push({
          at: now - this.#beganAt,
          channel: row.channel_type === 'PAGERDUTY' ? desk : 'chat',
          key: message.incidentKey,
          isOver: message.isOver,
          isRecovery: alert.notice === 'recovery',
          update: facts.cause?.update?.kind ?? null,
          check: indexOf(facts.checkName),
          place: facts.subject === 'location' ? placeOf(facts.runLocation) : null,
          causeId: alert.cause_id ?? null,
          title: message.title,
        });
      }
      await notifications.end(row, 'SUCCESS', 'sent', now);
      if (row.former_channel_id !== null) await receiverIncidents.forgetFormer(row.former_channel_id);
    }
    return true;
  }

  async #raised({ accountId }: HistoryRun): Promise<Raised[]> {
    const window = { accountId, from: 0, to: Number.MAX_SAFE_INTEGER, hasSuppressed: true };
    const { alerts } = await this.#harness.store.alerts.list(window, { limit: 1_000, offset: 0 });
    return alerts.map((alert) => ({
      at: alert.created - this.#beganAt,
      check: indexOf(storedFacts(alert).checkName),
      causeId: alert.cause_id ?? null,
      isSuppressed: alert.suppressed_by !== null,
      notice: alert.notice,
    }));
  }
}
