import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAccount } from '../../../src/service/accounts/accounts.ts';
import { CauseWatch } from '../../../src/service/alerts/causes/cause-watch.ts';
import { summaryOf } from '../../../src/service/alerts/causes/summary.ts';
import { channelMessage } from '../../../src/service/alerts/delivery/message.ts';
import { storedFacts } from '../../../src/service/alerts/raise.ts';
import { AlertTimers } from '../../../src/service/alerts/timers.ts';
import { type EffectiveCheck, withGroups } from '../../../src/service/checks/effective-check.ts';
import { storeOutcome } from '../../../src/service/results/settle.ts';
import type { CountedResultRow } from '../../../src/service/results/tables.ts';
import { queuedRun, RunNumbers } from '../../../src/service/runs/due-runs.ts';
import type { RunRow } from '../../../src/service/runs/tables.ts';
import { endedAt } from '../../../src/service/store/days/ended-day.ts';
import { ManualClock } from '../manual-clock.ts';
import { openHarness, type ServiceHarness } from '../service/service.ts';
import { urlDetail } from '../service/url-detail.ts';
import { People } from './deeds.ts';
import { type Deed, type History, isDownAt, slotsOf, stepMs } from './history.ts';
import { judged, type Raised, type Sent, type Verdict } from './judge.ts';

const desks = { desk: 'd'.repeat(32), 'moved-desk': 'm'.repeat(32) } as const;

/** One history on its way: an account of its own, and what its channels got. */
interface Course {
  readonly history: History;
  readonly accountId: string;
  readonly checkIds: string[];
  readonly groupId: number | null;
  deskId: number;
  readonly windowIds: Map<number, number>;
  readonly silenceIds: Map<number, string>;
  /** Checks of which the service remembers anything; of others a pass changes nothing. */
  readonly remembered: Set<string>;
  readonly sent: Sent[];
  nextDeed: number;
}

/** A slot of a check of a history, by the index of the check. */
interface Slot {
  readonly course: Course;
  readonly index: number;
  readonly isFirst: boolean;
}

/**
 * Lives through histories at once, on the parts of the service that decide about alerts: results are stored as agents'
 * are, people call the API, and the jobs of alerting take their turns each time that anything is due. Only the way of a
 * notification to its receiver is left out: it counts as delivered as soon as it is due.
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
  readonly #people: People;
  readonly #numbers = new RunNumbers();
  readonly #courses = new Map<string, Course>();
  /** When time alone makes something due. */
  #nextTurnAt = 0;

  constructor(harness: ServiceHarness, clock: ManualClock) {
    this.#harness = harness;
    this.#people = new People(harness);
    this.#clock = clock;
    this.#beganAt = clock.wallMs();
    const { store } = harness;
    this.#timers = new AlertTimers({ store, clock });
    this.#causes = new CauseWatch({ store, clock, metrics: { countGrouped: () => undefined } });
  }

  async run(histories: readonly History[]): Promise<Verdict[]> {
    for (const history of histories) {
      const course = await this.#begin(history);
      this.#courses.set(course.accountId, course);
    }
    const courses = [...this.#courses.values()];
    const endsAt = Math.max(...histories.map((history) => history.endsAt));
    const due = agendaOf(courses);
    for (let at = 0; at <= endsAt; at += stepMs) {
      this.#clock.set(this.#beganAt + at);
      const { deeds = [], runs = [] } = due.get(at) ?? {};
      for (const course of deeds) await this.#carryOut(course, at);
      const isChanged = (await this.#report(runs, at)) || deeds.length > 0;
      if (isChanged || this.#nextTurnAt <= this.#clock.wallMs()) await this.#takeTurns();
    }
    const verdicts: Verdict[] = [];
    for (const course of courses) {
      verdicts.push(judged(course.history, course.sent, await this.#raised(course)));
    }
    return verdicts;
  }

  async #begin(history: History): Promise<Course> {
    const { store } = this.#harness;
    const { accountId } = await addAccount(store, this.#clock, 'Test');
    const call = this.#callerOf(accountId);
    await call('createPrivateLocation', {}, { name: 'lab', slugName: 'lab' });
    const config = { serviceKey: desks.desk };
    const { id: deskId } = await call('createAlertChannel', {}, { type: 'PAGERDUTY', config });
    if (history.hasChat) {
      const hook = { name: 'chat', url: 'http://chat.test/', template: '{}' };
      await call('createAlertChannel', {}, { type: 'WEBHOOK', config: hook });
    }
    const isGrouped = history.checks.some((check) => check.isGrouped);
    const group = isGrouped ? await call('createCheckGroup', {}, { name: 'group' }) : null;
    const course: Course = {
      ...{ history, accountId, deskId, groupId: group?.id ?? null, nextDeed: 0 },
      ...{ checkIds: [], windowIds: new Map(), silenceIds: new Map(), remembered: new Set(), sent: [] },
    };
    for (const [index, { createdAt }] of history.checks.entries()) {
      if (createdAt === 0) await this.#createCheck(course, index);
    }
    return course;
  }

  async #createCheck(course: Course, index: number): Promise<void> {
    const check = course.history.checks[index];
    if (!check) throw new Error('a history creates a check that it does not have');
    course.checkIds[index] = await this.#people.createCheck(course.accountId, 'URL', {
      ...{ name: `check ${index}`, tags: index % 2 === 0 ? ['even'] : [], privateLocations: ['lab'] },
      ...{ frequency: check.intervalMs / 60_000, groupId: check.isGrouped ? course.groupId : null },
      ...{
        request: { url: `http://host${check.host}.test/${index}` },
        retryStrategy: null,
        doubleCheck: false,
      },
      useGlobalAlertSettings: false,
      alertSettings: {
        ...{ flapping: { enabled: false }, monitoringGap: { enabled: false } },
        escalationType: 'RUN_BASED',
        runBasedEscalation: { failedRunThreshold: check.threshold },
      },
    });
  }

  async #carryOut(course: Course, at: number): Promise<void> {
    const { deeds } = course.history;
    for (let next = deeds[course.nextDeed]; next && next.at <= at; next = deeds[course.nextDeed]) {
      course.nextDeed += 1;
      await this.#do(course, next.deed);
    }
  }

  async #do(course: Course, deed: Deed): Promise<void> {
    const call = this.#callerOf(course.accountId);
    const iso = (at: number) => new Date(this.#beganAt + at).toISOString();
    const id = 'check' in deed ? course.checkIds[deed.check] : undefined;
    const change = (body: object) => this.#people.updateCheck(course.accountId, String(id), { ...body });
    const isGone = 'check' in deed && deed.kind !== 'create' && id === undefined;
    if (isGone) return;
    switch (deed.kind) {
      case 'create':
        return this.#createCheck(course, deed.check);
      case 'delete':
        await this.#people.deleteCheck(course.accountId, String(id));
        delete course.checkIds[deed.check];
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
        return this.#changeGroup(course, { muted: deed.kind === 'mute-group' });
      case 'deactivate-group':
      case 'activate-group':
        return this.#changeGroup(course, { activated: deed.kind === 'activate-group' });
      case 'open-window': {
        const effect = deed.isAll ? { silenceAllAlerts: true } : { silenceAlertsTags: ['even'] };
        const times = { startsAt: new Date(this.#clock.wallMs()).toISOString(), endsAt: iso(deed.endsAt) };
        const made = await call('createMaintenanceWindow', {}, { name: 'window', ...times, ...effect });
        course.windowIds.set(deed.window, made.id);
        return;
      }
      case 'delete-window':
        return call('deleteMaintenanceWindow', { id: course.windowIds.get(deed.window) });
      case 'end-window':
        return call(
          'createMaintenanceUpdate',
          { id: course.windowIds.get(deed.window), maintenanceId: 1 },
          { status: 'COMPLETED', description: 'done' },
        );
      case 'silence': {
        const made = await call('createSilence', {}, { checkId: id, endsAt: iso(deed.endsAt) });
        course.silenceIds.set(deed.silence, made.id);
        return;
      }
      case 'end-silence': {
        const silenceId = course.silenceIds.get(deed.silence);
        if (silenceId !== undefined) await call('endSilence', { id: silenceId });
        return;
      }
      case 'move-channel':
        return call(
          'updateAlertChannel',
          { id: course.deskId },
          { config: { serviceKey: desks['moved-desk'] } },
        );
      case 'delete-channel':
        return call('deleteAlertChannel', { id: course.deskId });
    }
  }

  async #changeGroup({ accountId, groupId }: Course, body: object): Promise<void> {
    if (groupId !== null) await this.#callerOf(accountId)('updateCheckGroup', { id: groupId }, body);
  }

  /** Stores what the runs of all slots of an instant bring. Returns whether any run brought something. */
  async #report(slots: readonly Slot[], at: number): Promise<boolean> {
    const due = slots.flatMap((slot) => this.#dueOf(slot, at));
    if (due.length === 0) return false;
    const { store } = this.#harness;
    const checks = await store.checks.findMany(due.map(({ checkId }) => checkId));
    const effective = new Map(
      (await withGroups(store, [...checks.values()])).map((check) => [check.id, check]),
    );
    const now = this.#clock.wallMs();
    const final = due.flatMap(({ checkId, isDown }) => {
      const check = effective.get(checkId);
      return check?.activated ? [this.#result(check, isDown, now)] : [];
    });
    await store.transaction((repositories) => storeOutcome(repositories, { final, attempts: [] }, now));
    const states = await store.alerts.statesOfChecks(final.map(({ row }) => row.check_id));
    const remembered = new Set(states.map((row) => row.check_id));
    for (const { course, checkId } of due) {
      if (remembered.has(checkId)) course.remembered.add(checkId);
      else course.remembered.delete(checkId);
    }
    return true;
  }

  #dueOf(
    { course, index, isFirst }: Slot,
    at: number,
  ): { course: Course; checkId: string; isDown: boolean }[] {
    const { history, checkIds, remembered } = course;
    const checkId = checkIds[index];
    const check = history.checks[index];
    if (checkId === undefined || !check) return [];
    const isDown = isDownAt(history.outages[check.host] ?? [], at);
    return isDown || isFirst || remembered.has(checkId) ? [{ course, checkId, isDown }] : [];
  }

  #result(
    check: EffectiveCheck,
    isDown: boolean,
    now: number,
  ): { run: RunRow; row: CountedResultRow; report: object } {
    const place = { location: 'lab', locationId: null, slotAt: now, freshMs: 0, now };
    const run: RunRow = {
      ...queuedRun(check, { ...place, checkRunId: this.#numbers.next(now) }),
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
      ...{ response_time: 10, started: now, stopped: now, created: now, attempts: 1 },
      ...{ sequence_id: run.sequence_id, check_run_id: run.check_run_id, slot_at: run.slot_at },
      ...{ start_delay: 0, agent_lag: 0, agent_overhead: 0, host_started: null, timing_doubtful: 0 },
      ...{ certificate_expires: null, agent_id: 'agent', error_messages: '[]', error_group_ids: '[]' },
      detail: JSON.stringify(detail),
      measured: null,
    };
    return { run, row, report: { detail } };
  }

  /** The jobs of alerting, until nothing is due any more. */
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

  /** Delivers what is due, in its order. Returns whether anything was. */
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
      const course = this.#courses.get(row.account_id);
      const former = row.former_channel_id && (await receiverIncidents.findFormer(row.former_channel_id));
      const present = former
        ? (JSON.parse(former.definition) as { config: { serviceKey?: string } })
        : (await alertChannels.find(row.account_id, row.channel_id))?.definition;
      if (alert && course && present) {
        const causes = await alertCauses.findMany(alert.cause_id ? [alert.cause_id] : []);
        const facts = { ...storedFacts(alert), cause: summaryOf(causes.get(alert.cause_id ?? ''), row) };
        const message = channelMessage({
          ...{ id: row.id, alertId: alert.id, type: alert.alert_type, notice: alert.notice },
          ...{ checkId: alert.check_id, filedUnder: row.check_id, resultId: alert.result_id },
          ...{ accountId: alert.account_id, facts, created: alert.created, resultLink: null, pageLink: null },
        });
        const { serviceKey } = (present as { config: { serviceKey?: string } }).config;
        const desk = serviceKey === desks.desk ? 'desk' : 'moved-desk';
        course.sent.push({
          at: now - this.#beganAt,
          channel: row.channel_type === 'PAGERDUTY' ? desk : 'chat',
          key: message.incidentKey,
          isOver: message.isOver,
          isRecovery: alert.notice === 'recovery',
          update: facts.cause?.update?.kind ?? null,
          check: indexOf(facts.checkName),
          causeId: alert.cause_id ?? null,
          title: message.title,
        });
      }
      await notifications.end(row, 'SUCCESS', 'sent', now);
      if (row.former_channel_id !== null) await receiverIncidents.forgetFormer(row.former_channel_id);
    }
    return true;
  }

  async #raised({ accountId }: Course): Promise<Raised[]> {
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

  #callerOf(accountId: string) {
    return (operationId: string, params: object, body?: object) =>
      this.#people.call(accountId, operationId, { ...params }, body && { ...body });
  }
}

const indexOf = (checkName: string) => Number(checkName.replace('check ', ''));

interface Agenda {
  readonly deeds: Course[];
  readonly runs: Slot[];
}

/** What is to be done in each history, and which slots are due, by the time: most of them have neither. */
function agendaOf(courses: readonly Course[]): ReadonlyMap<number, Agenda> {
  const agenda = new Map<number, Agenda>();
  const at = (time: number): Agenda => {
    // What falls between two steps is done at the next one.
    const step = Math.ceil(time / stepMs) * stepMs;
    const known = agenda.get(step) ?? { deeds: [], runs: [] };
    agenda.set(step, known);
    return known;
  };
  for (const course of courses) {
    const { deeds, checks, endsAt } = course.history;
    for (const { at: time } of deeds) {
      const { deeds: known } = at(time);
      if (known.at(-1) !== course) known.push(course);
    }
    for (const [index, check] of checks.entries()) {
      for (const [count, time] of slotsOf(check, endsAt).entries())
        at(time).runs.push({ course, index, isFirst: count === 0 });
    }
  }
  return agenda;
}
