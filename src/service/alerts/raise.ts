import { createHash, randomUUID } from 'node:crypto';
import { locationsOf } from '../checks/slots.ts';
import { openIncident, resolveIncident, type TriggeredIncident } from '../incidents/trigger.ts';
import type { Repositories } from '../store.ts';
import { type StoredChannel, shownConfig, wantsNotice } from './channels/rules.ts';
import type { AlertChannel } from './channels/store.ts';
import type { AlertedResult } from './facts.ts';
import { type AlertFacts, factsOf } from './facts.ts';
import { type AlertPolicy, alertPolicies } from './policy.ts';
import type { ResultFlags } from './run-verdict.ts';
import { parallelVerdict, verdictOf } from './run-verdict.ts';
import {
  type AlertEvent,
  type AlertState,
  nextTimerAt,
  quietState,
  type Step,
  step,
  type Verdict,
} from './state.ts';
import type { AlertRow, AlertStateRow } from './tables.ts';

/** A final result and the location its slot was for: a retry may have run elsewhere. */
export interface CountedResult {
  readonly row: AlertedResult;
  readonly slotLocation: string;
}

/** What a location said last of a check that runs in parallel. */
interface LocationStatus extends ResultFlags {
  readonly check_id: string;
  readonly slot_location: string;
  readonly slot_at: number;
}

/** What is stored of a check that does not just pass. */
interface StoredState {
  readonly alert: AlertState;
  /** The newest slot that has its verdict; nothing that is reported of it later changes that. */
  readonly judgedSlotAt: number | null;
  /**
   * What the locations of a newer slot said that not all have reported of; it holds once the next slot
   * begins.
   */
  readonly undecided: {
    readonly slotAt: number;
    readonly verdict: Verdict;
    readonly resultId: string;
  } | null;
  readonly lastResultId: string | null;
  readonly incident: TriggeredIncident | null;
  /** The first slot since the check last passed; null while it does. Absent in states of an older build. */
  readonly episodeSince?: number | null;
}

const nothingStored: StoredState = {
  alert: quietState,
  judgedSlotAt: null,
  undecided: null,
  lastResultId: null,
  incident: null,
  episodeSince: null,
};

/**
 * Feeds final results to the alert states of their checks and stores the alerts that follow, with a
 * notification for each channel that wants it. All in the transaction that stored the results: an alert is as
 * durable as what caused it, and is made exactly once. Results count in the order of their slots; one of an
 * older slot that comes late does not.
 *
 * @param lastSlots the newest slot of each check before these results; the statuses of the checks are locked.
 * @returns whether there are notifications to send.
 */
export async function raiseAlerts(
  repositories: Repositories,
  results: readonly CountedResult[],
  lastSlots: ReadonlyMap<string, number>,
  now: number,
): Promise<boolean> {
  const states = await repositories.alerts.lockStates(results.map(({ row }) => row.check_id));
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
    const last = lastSlots.get(id);
    // A slot that lies in the future is the trace of a clock that was ahead, and counts as older than any
    // other.
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

/** What time alone has made due for a check: an escalation or a reminder. To be called in a transaction. */
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
  await repositories.alerts.forgetStates(orphans);
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
    for (const { row } of inOrder) {
      const verdict = verdictOf(row);
      if (verdict !== null) state = await round.judged(policy, state, { verdict, row });
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
    if (isFinal) state = await round.judged(policy, { ...state, undecided: null }, { verdict, row: last });
    else if (verdict !== 'passed' || state.alert.phase !== 'passed') {
      state = { ...state, undecided: { slotAt, verdict, resultId: last.id } };
    }
  }
  return state;
}

/** Makes the alerts of one transaction. */
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
    { verdict, row }: { readonly verdict: Verdict; readonly row: AlertedResult },
  ): Promise<StoredState> {
    const next = await this.advance(policy, state, { kind: 'run', verdict, slotAt: row.slot_at }, row);
    return { ...next, judgedSlotAt: row.slot_at, lastResultId: row.id };
  }

  /** Lets a slot count of which some location never reported. */
  async settled(policy: AlertPolicy, state: StoredState): Promise<StoredState> {
    if (!state.undecided) return state;
    const { slotAt, verdict, resultId } = state.undecided;
    const row = await this.#repositories.results.find(policy.check.id, resultId);
    const next = await this.advance(policy, state, { kind: 'run', verdict, slotAt }, row);
    return { ...next, undecided: null, judgedSlotAt: slotAt, lastResultId: resultId };
  }

  async advance(
    policy: AlertPolicy,
    state: StoredState,
    event: AlertEvent,
    result: AlertedResult | undefined,
  ): Promise<StoredState> {
    const { settings, suppressedBy, check } = policy;
    const outcome = step(state.alert, event, {
      settings,
      now: this.#now,
      isSuppressed: suppressedBy !== null,
    });
    const began = event.kind === 'run' ? event.slotAt : this.#now;
    const since = state.alert.phase === 'passed' ? began : (state.episodeSince ?? state.alert.since);
    if (outcome.notice !== null) await this.#raise(policy, { ...outcome, since }, result);
    let { incident } = state;
    if (outcome.notice === 'failure' && incident === null) {
      incident = await openIncident(this.#repositories, check, this.#now);
      this.hasNews ||= incident !== null;
    }
    // An incident that is over is resolved whether or not anybody may be notified.
    if (outcome.state.phase === 'passed' && incident !== null) {
      await resolveIncident(this.#repositories, check, incident, this.#now);
      incident = null;
      this.hasNews = true;
    }
    const episodeSince = outcome.state.phase === 'passed' ? null : since;
    return { ...state, alert: outcome.state, incident, episodeSince };
  }

  async #raise(
    policy: AlertPolicy,
    outcome: Step & { readonly since: number },
    result: AlertedResult | undefined,
  ): Promise<void> {
    const { check, groupId, groupName } = policy;
    const { type, notice, reminder, recoversFrom, since } = outcome;
    if (notice === null) return;
    const facts = factsOf(check, result, { groupName, reminder, recoversFrom, since });
    const alert: AlertRow = {
      id: alertId(check.id, result?.id ?? String(this.#now), type, String(reminder)),
      account_id: check.accountId,
      check_id: check.id,
      alert_type: type,
      notice,
      result_id: result?.id ?? null,
      facts: JSON.stringify(facts),
      created: this.#now,
    };
    const channels = await this.#repositories.alertChannels.notifiedOfCheck(check.id, groupId);
    await storeAlert(
      this.#repositories,
      alert,
      channels.filter((channel) => wantsNotice(channel.definition as StoredChannel, notice, facts)),
    );
    this.hasNews = true;
  }
}

/**
 * Stores an alert and its notification for each of some channels. What is there already stays as it is.
 *
 * @returns whether the alert was new.
 */
export async function storeAlert(
  repositories: Repositories,
  alert: AlertRow,
  channels: readonly AlertChannel[],
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
    })),
  );
  return inserted.has(alert.id);
}

/** The id that the same alert always has, however often it is made. */
export function alertId(...parts: readonly string[]): string {
  const hex = createHash('sha256').update(parts.join('\n')).digest('hex');
  // A UUID of version 8: made by a rule of our own (RFC 9562).
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** The facts that an alert was stored with. */
export function storedFacts(alert: Pick<AlertRow, 'facts'>): AlertFacts {
  return JSON.parse(alert.facts) as AlertFacts;
}

function parseState(row: AlertStateRow | undefined): StoredState {
  return row ? (JSON.parse(row.state) as StoredState) : nothingStored;
}

async function saveState(
  repositories: Repositories,
  policy: AlertPolicy,
  {
    stored,
    next,
    now,
  }: {
    readonly stored: AlertStateRow | undefined;
    readonly next: StoredState;
    readonly now: number;
  },
): Promise<void> {
  const { id, accountId } = policy.check;
  if (next.alert.phase === 'passed' && next.undecided === null && next.incident === null) {
    if (stored) await repositories.alerts.forgetStates([id]);
    return;
  }
  await repositories.alerts.saveState({
    check_id: id,
    account_id: accountId,
    state: JSON.stringify(next),
    next_at: nextTimerAt(next.alert, policy.settings),
    updated: now,
  });
}
