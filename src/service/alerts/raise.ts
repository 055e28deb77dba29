import { createHash, randomUUID } from 'node:crypto';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { locationsOf } from '../checks/timing/slots.ts';
import { forgetAlerts } from '../incidents/forget-alerts.ts';
import { openIncidents, resolveIncidents } from '../incidents/trigger.ts';
import { recoverByCause, routeByCause } from './causes/inbox.ts';
import { type StoredChannel, shownConfig, wantsNotice } from './channels/rules.ts';
import type { AlertChannel } from './channels/store.ts';
import type { AlertedResult } from './facts.ts';
import { type AlertFacts, factsOf, unknownFacts } from './facts.ts';
import { type AlertPolicy, alertPolicies } from './policy.ts';
import type { ResultFlags } from './run-verdict.ts';
import { parallelVerdict, verdictOf } from './run-verdict.ts';
import { type AlertEvent, type Step, step, type Verdict } from './state.ts';
import {
  type Acknowledgement,
  isOpen,
  type LastLocations,
  parseState,
  type StoredState,
  saveState,
} from './stored-state.ts';
import type { AlertRow, AlertStateRow } from './tables.ts';
import { follow } from './trend.ts';

const readFacts = storedValue<AlertFacts>('alerts.facts', unknownFacts);

/** A final result and the location of its slot: a retry may have run elsewhere. */
export interface CountedResult {
  readonly row: AlertedResult;
  readonly slotLocation: string;
}

/** Latest status of a location of a check that runs in parallel. */
interface LocationStatus extends ResultFlags {
  readonly check_id: string;
  readonly slot_location: string;
  readonly slot_at: number;
}

/**
 * Feeds final results to the alert states of their checks and stores the resulting alerts, with a notification for each
 * channel that wants it. Runs in the transaction that stored the results: an alert is as durable as its cause, and is
 * created exactly once. Results count in the order of their slots; a late result of an older slot does not count.
 *
 * @param before for the checks, whose statuses are locked: the newest slot before these results, and the checks that
 *   have an alert state.
 * @returns whether there are notifications to send.
 */
export async function raiseAlerts(
  repositories: Repositories,
  results: readonly CountedResult[],
  before: { readonly lastSlots: ReadonlyMap<string, number>; readonly alerted: ReadonlySet<string> },
  now: number,
): Promise<boolean> {
  const states = await repositories.alerts.lockStates(
    results.flatMap(({ row }) => (before.alerted.has(row.check_id) ? [row.check_id] : [])),
  );
  const concerned = results.filter(({ row }) => verdictOf(row) !== 'passed' || states.has(row.check_id));
  const checkIds = [...new Set(concerned.map(({ row }) => row.check_id))].sort();
  if (checkIds.length === 0) return false;
  const policies = await alertPolicies(repositories, checkIds, now);
  const parallel = checkIds.filter((id) => policies.get(id)?.check.definition.runParallel === true);
  const locationRows = Map.groupBy(await repositories.statuses.ofLocations(parallel), (row) => row.check_id);
  const byCheck = Map.groupBy(results, ({ row }) => row.check_id);
  const round = new AlertRound(repositories, now);
  for (const id of checkIds) {
    const policy = policies.get(id);
    if (!policy) continue;
    const last = before.lastSlots.get(id);
    // A slot in the future results from a clock that was ahead, and counts as older than any other.
    const newest = last === undefined || last > now ? Number.NEGATIVE_INFINITY : last;
    const inOrder = (byCheck.get(id) ?? [])
      .filter(({ row }) => row.slot_at >= newest)
      .sort((left, right) => left.row.slot_at - right.row.slot_at);
    const stored = parseState(states.get(id));
    const next = await judge(round, policy, stored, { inOrder, locations: locationRows.get(id) ?? [] });
    await saveState(repositories, policy, { stored: states.get(id), next, now });
  }
  return round.hasNews;
}

/** Raises alerts that time alone has made due: an escalation or a reminder. Must be called in a transaction. */
export async function raiseDueAlerts(
  repositories: Repositories,
  rows: readonly AlertStateRow[],
  now: number,
) {
  const policies = await alertPolicies(
    repositories,
    rows.map((row) => row.check_id),
    now,
  );
  const round = new AlertRound(repositories, now);
  const orphans = rows.filter((row) => !policies.has(row.check_id)).map((row) => row.check_id);
  await forgetAlerts(repositories, orphans, now);
  for (const row of rows) {
    const policy = policies.get(row.check_id);
    if (!policy) continue;
    const stored = parseState(row);
    const result =
      stored.lastResultId === null
        ? undefined
        : await repositories.results.find(row.check_id, stored.lastResultId);
    const next = await round.advance(policy, stored, { kind: 'timer' }, result);
    await saveState(repositories, policy, { stored: row, next, now });
  }
  return round.hasNews;
}

/**
 * Acknowledges the open alerts of a check, or withdraws that: reminders and escalation stop or resume. Must be called
 * in a transaction.
 *
 * @param acknowledgement null withdraws the current one.
 * @returns undefined if nothing is open, else whether there are notifications to send.
 */
export async function acknowledgeAlert(
  repositories: Repositories,
  checkId: string,
  acknowledgement: Acknowledgement | null,
  now: number,
): Promise<{ readonly hasNews: boolean } | undefined> {
  const row = (await repositories.alerts.lockStates([checkId])).get(checkId);
  const policy = row && (await alertPolicies(repositories, [checkId], now)).get(checkId);
  const before = parseState(row);
  if (!policy || !isOpen(before)) return undefined;
  const round = new AlertRound(repositories, now);
  const { lastResultId } = before;
  const result = lastResultId === null ? undefined : await repositories.results.find(checkId, lastResultId);
  const event: AlertEvent = { kind: acknowledgement ? 'acknowledgement' : 'withdrawal' };
  const next = await round.advance(policy, { ...before, acknowledgement }, event, result);
  await saveState(repositories, policy, { stored: row, next, now });
  return { hasNews: round.hasNews };
}

interface Reported {
  readonly inOrder: readonly CountedResult[];
  readonly locations: readonly LocationStatus[];
}

async function judge(
  round: AlertRound,
  policy: AlertPolicy,
  before: StoredState,
  { inOrder, locations }: Reported,
): Promise<StoredState> {
  const names = locationsOf(policy.check.definition);
  let state = before;
  if (policy.check.definition.runParallel !== true || names.length < 2) {
    for (const { row, slotLocation } of inOrder) {
      const verdict = verdictOf(row);
      const at = [slotLocation];
      if (verdict !== null) state = await round.judged(policy, state, { verdict, row, locations: at });
    }
    return state;
  }
  for (const [slotAt, ofSlot] of Map.groupBy(inOrder, ({ row }) => row.slot_at)) {
    const last = ofSlot.at(-1)?.row;
    if (!last || slotAt <= (state.judgedSlotAt ?? Number.NEGATIVE_INFINITY)) continue;
    if (state.undecided && state.undecided.slotAt < slotAt) state = await round.settled(policy, state);
    const stored = locations.filter((row) => row.slot_at === slotAt && names.includes(row.slot_location));
    const known = new Map<string, ResultFlags>(stored.map((row) => [row.slot_location, row]));
    for (const { row, slotLocation } of ofSlot) {
      if (names.includes(slotLocation)) known.set(slotLocation, row);
    }
    const { verdict, isFinal } = parallelVerdict([...known.values()], names.length, policy.settings);
    if (verdict === null) continue;
    // Only locations that did not pass: silences of other locations do not matter.
    const bad = [...known].flatMap(([name, flags]) => (verdictOf(flags) === 'passed' ? [] : [name]));
    if (isFinal) {
      const judged = { verdict, row: last, locations: bad };
      state = await round.judged(policy, { ...state, undecided: null }, judged);
    } else if (verdict !== 'passed' || isOpen(state)) {
      state = { ...state, undecided: { slotAt, verdict, resultId: last.id, locations: bad } };
    }
  }
  return state;
}

/** Creates the alerts of one transaction. */
class AlertRound {
  readonly #repositories: Repositories;
  readonly #now: number;
  hasNews = false;

  constructor(repositories: Repositories, now: number) {
    this.#repositories = repositories;
    this.#now = now;
  }

  async judged(
    policy: AlertPolicy,
    state: StoredState,
    {
      verdict,
      row,
      locations,
    }: { readonly verdict: Verdict; readonly row: AlertedResult; readonly locations: LastLocations },
  ): Promise<StoredState> {
    const event: AlertEvent = { kind: 'run', verdict, slotAt: row.slot_at };
    const next = await this.advance(policy, { ...state, lastLocations: locations }, event, row);
    return { ...next, judgedSlotAt: row.slot_at, lastResultId: row.id };
  }

  /** Counts a slot for which some location never reported. */
  async settled(policy: AlertPolicy, state: StoredState): Promise<StoredState> {
    if (!state.undecided) return state;
    const { slotAt, verdict, resultId, locations = [] } = state.undecided;
    const row = await this.#repositories.results.find(policy.check.id, resultId);
    const known = { ...state, lastLocations: locations };
    const next = await this.advance(policy, known, { kind: 'run', verdict, slotAt }, row);
    return { ...next, undecided: null, judgedSlotAt: slotAt, lastResultId: resultId };
  }

  async advance(
    policy: AlertPolicy,
    state: StoredState,
    event: AlertEvent,
    result: AlertedResult | undefined,
  ): Promise<StoredState> {
    const { settings, check } = policy;
    const isRun = event.kind === 'run';
    const followed = isRun ? follow(state.trend, event, settings) : undefined;
    const withheld = policy.withheldAt(state.lastLocations);
    const together = isRun && followed ? { ...event, verdict: followed.verdict } : event;
    const outcome = step(state.alert, together, {
      settings,
      now: this.#now,
      withheld,
      flapping: followed?.flapping ?? (state.trend.isFlapping ? 'lasts' : 'no'),
    });
    const began = isRun ? event.slotAt : this.#now;
    const since = isOpen(state) ? (state.episodeSince ?? state.alert.since) : began;
    const raised = { ...outcome, since, silenceId: withheld?.silenceId, locations: state.lastLocations };
    const isGrouped = await this.#raise(policy, raised, result);
    const next = { ...state, alert: outcome.state, trend: followed?.trend ?? state.trend };
    if (isOpen(state) && !isOpen(next) && outcome.notice === null) {
      await recoverByCause(this.#repositories, check, this.#now);
      await this.#repositories.receiverIncidents.lookAgain({ checkId: check.id });
    }
    let { incidents } = state;
    if (outcome.notice === 'failure' && incidents.length === 0 && !isGrouped) {
      incidents = await openIncidents(this.#repositories, check, this.#now);
      this.hasNews ||= incidents.length > 0;
    }
    // An incident that is over is resolved even if no channel may be notified.
    if (!isOpen(next) && incidents.length > 0) {
      await resolveIncidents(this.#repositories, check, incidents, this.#now);
      incidents = [];
      this.hasNews = true;
    }
    const acknowledgement = outcome.state.acknowledged == null ? null : (state.acknowledgement ?? null);
    return { ...next, incidents, acknowledgement, episodeSince: isOpen(next) ? since : null };
  }

  /** Returns whether the cause of the alert takes over its notifications and its incident. */
  async #raise(
    policy: AlertPolicy,
    outcome: Step & {
      readonly since: number;
      readonly silenceId: string | undefined;
      readonly locations: LastLocations;
    },
    result: AlertedResult | undefined,
  ): Promise<boolean> {
    const { check, groupId, groupName } = policy;
    const { type, withheld, reminder, recoversFrom, since, heldBy } = outcome;
    const notice = outcome.notice ?? withheld?.notice;
    if (notice === undefined) return false;
    const silenceId = withheld?.by === 'silenced' ? { silenceId: outcome.silenceId } : {};
    const facts = factsOf(check, result, {
      groupName,
      reminder,
      recoversFrom,
      since,
      locations: outcome.locations,
      ...silenceId,
      ...(outcome.notice === null || heldBy === null ? {} : { heldBy }),
      ...(type === 'ALERT_FLAPPING' ? { isFlapping: true } : {}),
    });
    const cause = result?.id ?? String(this.#now);
    const alert: AlertRow = {
      id: alertId(check.id, cause, type, String(reminder), ...(withheld ? [withheld.by] : [])),
      account_id: check.accountId,
      check_id: check.id,
      alert_type: type,
      notice,
      result_id: result?.id ?? null,
      facts: JSON.stringify(facts),
      created: this.#now,
      suppressed_by: withheld?.by ?? null,
    };
    // Alerts without a notification are stored, too, with the reason.
    if (withheld) {
      await this.#repositories.alerts.insert([alert]);
      return false;
    }
    const channels = await this.#repositories.alertChannels.notifiedOfCheck(check.id, groupId);
    const wanting = channels.filter((channel) =>
      wantsNotice(channel.definition as StoredChannel, notice, facts),
    );
    const routed = await routeByCause(
      this.#repositories,
      { check, alert, reminder, since, result, channels: wanting },
      this.#now,
    );
    await storeAlert(this.#repositories, alert, routed.channels);
    this.hasNews = true;
    return routed.isGrouped;
  }
}

/**
 * Stores an alert and a notification for each of the given channels. Existing rows are left unchanged.
 *
 * @param formerChannelId the channel as it was, if it no longer exists in that form.
 * @returns whether the alert was new.
 */
export async function storeAlert(
  repositories: Pick<Repositories, 'alerts' | 'notifications'>,
  alert: AlertRow,
  channels: readonly AlertChannel[],
  formerChannelId?: string,
): Promise<boolean> {
  const inserted = await repositories.alerts.insert([alert]);
  await repositories.notifications.insert(
    channels.map((channel) => ({
      id: randomUUID(),
      account_id: alert.account_id,
      alert_id: alert.id,
      check_id: alert.check_id,
      channel_id: channel.id,
      channel_type: channel.type,
      config: JSON.stringify(shownConfig(channel)),
      status: 'IN_PROGRESS' as const,
      tries: 0,
      next_at: alert.created,
      last_try: null,
      result: null,
      created: alert.created,
      ended: null,
      ...(formerChannelId === undefined ? {} : { former_channel_id: formerChannelId }),
    })),
  );
  return inserted.has(alert.id);
}

/** Deterministic id: the same alert always has the same id, however often it is created. */
export function alertId(...parts: readonly string[]): string {
  const hex = createHash('sha256').update(parts.join('\n')).digest('hex');
  // UUID version 8: a custom layout (RFC 9562).
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** Facts that an alert was stored with. */
export function storedFacts(alert: Pick<AlertRow, 'facts'>): AlertFacts {
  return readFacts(alert.facts);
}
