import type { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';

/**
 * The alert state of a check (check model 2.2, 2.3). Its lifecycle:
 *
 * A check is `passed`, `degraded` or `failed`, like its last run; a run of several locations at once counts as one, and
 * a run whose failure is not the target's fault does not count at all. Consecutive runs with the same verdict are a
 * streak. The time from leaving `passed` until returning to it is an episode.
 *
 * A streak that begins from `passed` is not reported before it reaches the threshold: that many runs (RUN_BASED), or
 * that many minutes since its first run (TIME_BASED; time passes without runs too). Then its notice is sent and the
 * streak is settled. A change between `degraded` and `failed` begins a new streak and is reported at once, whatever the
 * threshold. A settled streak sends only reminders: up to N of them, a set time apart, none after it ended. On return
 * to `passed`, a recovery is notified if any part of the episode was.
 *
 * A notice that is held (the check is muted, in a maintenance window that silences it, or silenced until a time, or its
 * alert is acknowledged) settles its streak, too. If the hold ends before the streak does, the notice is sent then.
 * Changes that come and go meanwhile are never sent. Reminders wait. The recovery of an earlier notified state is still
 * notified, except for a muted check: its incidents at receivers are ended by receivers/close-lost.ts. An
 * acknowledgement holds until the recovery, for states no worse than the acknowledged one: that of a degraded check
 * ends when the check fails.
 *
 * A check that flaps (see trend.ts) is notified once, and then not again until it is stable: a recovery if it is stable
 * at `passed`, otherwise one more notice.
 */
export interface AlertState {
  readonly phase: Verdict;
  /** Runs in the current streak. */
  readonly runs: number;
  /** When the first run of the streak was due, in epoch milliseconds. */
  readonly since: number;
  /** Whether the notice of the streak was sent or held. */
  readonly isSettled: boolean;
  /** Notices sent in this episode. */
  readonly told: { readonly failure: boolean; readonly degraded: boolean };
  readonly remindersSent: number;
  readonly nextReminderAt: number | null;
  /** Whether the notice of the streak is held back. Absent in states of an older build, as are the following fields. */
  readonly isHeld?: boolean;
  /** Suppression that holds it back. */
  readonly heldBy?: Suppression | null;
  /** The worst state of a flapping check while the notice of the flapping is held back. */
  readonly heldFlap?: Exclude<Verdict, 'passed'> | null;
  /** The worst state that was acknowledged in this episode. */
  readonly acknowledged?: Exclude<Verdict, 'passed'> | null;
}

export type Verdict = 'passed' | 'degraded' | 'failed';

export const alertTypes = [
  'NO_ALERT',
  'ALERT_DEGRADED',
  'ALERT_FAILURE',
  'ALERT_DEGRADED_REMAIN',
  'ALERT_DEGRADED_RECOVERY',
  'ALERT_DEGRADED_FAILURE',
  'ALERT_FAILURE_REMAIN',
  'ALERT_FAILURE_DEGRADED',
  'ALERT_RECOVERY',
  'ALERT_FLAPPING',
  'ALERT_ENDED',
  'ALERT_SSL',
  'ALERT_GAP',
  'ALERT_GAP_OVER',
  'ALERT_LOCATION_AWAY',
  'ALERT_LOCATION_BACK',
  'ALERT_LOCATION_SICK',
  'ALERT_LOCATION_WELL',
  'ALERT_LOCATION_OUTDATED',
  'ALERT_LOCATION_CURRENT',
  'ALERT_SLO_BURN',
  'ALERT_SLO_BURN_OVER',
  'ALERT_TEST',
] as const;
export type AlertType = (typeof alertTypes)[number];

/** Kinds of notification; channels choose the kinds they want. */
export type Notice = 'failure' | 'degraded' | 'recovery' | 'ssl' | 'gap';
/** Notices that follow from the verdicts of a check. */
type VerdictNotice = Exclude<Notice, 'ssl' | 'gap'>;

/** Why an alert is not sent. */
export const suppressions = ['muted', 'maintenance', 'silenced', 'acknowledged'] as const;
export type Suppression = (typeof suppressions)[number];

/** Alerts of a check are held back, until a time in epoch milliseconds; null if no end is set. */
export interface Withholding {
  readonly by: Exclude<Suppression, 'acknowledged'>;
  readonly until: number | null;
}

/** Events that change the state: a run got its verdict, time has passed, or a user handled the alert. */
export type AlertEvent =
  | { readonly kind: 'run'; readonly verdict: Verdict; readonly slotAt: number }
  | { readonly kind: 'timer' }
  | { readonly kind: 'acknowledgement' }
  | { readonly kind: 'withdrawal' };

export interface StepContext {
  readonly settings: AlertSettings;
  /** Epoch milliseconds; reminders are counted from the time of the notice. */
  readonly now: number;
  /** Suppression of alerts that applies now, or null. */
  readonly withheld: Withholding | null;
  readonly flapping: Flapping;
}

/** Whether a check flaps; when flapping begins, the worst state of its changes. */
export type Flapping = 'no' | 'lasts' | 'ends' | { readonly begins: Exclude<Verdict, 'passed'> };

export interface Step {
  readonly state: AlertState;
  readonly type: AlertType;
  /** Notice to send, or null. */
  readonly notice: VerdictNotice | null;
  /** Notice that would have been sent but for its suppression, or null. */
  readonly withheld: { readonly notice: VerdictNotice; readonly by: Suppression } | null;
  /** 0, or the number of the reminder. */
  readonly reminder: number;
  /** For a recovery: the worst state that was notified in the episode. */
  readonly recoversFrom: 'failure' | 'degraded' | null;
  /** Suppression that had held the notice back until now, or null. */
  readonly heldBy: Suppression | null;
}

/** State of a check that passes; equivalent to having no state. */
export const quietState: AlertState = {
  phase: 'passed',
  runs: 0,
  since: 0,
  isSettled: false,
  told: { failure: false, degraded: false },
  remindersSent: 0,
  nextReminderAt: null,
  isHeld: false,
  heldBy: null,
  heldFlap: null,
  acknowledged: null,
};

const transitions: Readonly<Record<Verdict, Readonly<Record<Verdict, AlertType>>>> = {
  passed: { passed: 'NO_ALERT', degraded: 'ALERT_DEGRADED', failed: 'ALERT_FAILURE' },
  degraded: {
    passed: 'ALERT_DEGRADED_RECOVERY',
    degraded: 'ALERT_DEGRADED_REMAIN',
    failed: 'ALERT_DEGRADED_FAILURE',
  },
  failed: {
    passed: 'ALERT_RECOVERY',
    degraded: 'ALERT_FAILURE_DEGRADED',
    failed: 'ALERT_FAILURE_REMAIN',
  },
};

const minuteMs = 60_000;

/** Computes the next state and the notice to send. */
export function step(state: AlertState, event: AlertEvent, context: StepContext): Step {
  switch (event.kind) {
    case 'run':
      return afterRun(state, event.verdict, event.slotAt, context);
    case 'timer':
      return afterTimer(state, context);
    case 'acknowledgement':
      return silent(acknowledged(state, context), remainType(state));
    case 'withdrawal':
      return withdrawn(state, context);
  }
}

/**
 * When time alone may change something, or null.
 *
 * @param withheldUntil when alerts of the check are no longer held back; null if not held, or if no end is known.
 */
export function nextTimerAt(
  state: AlertState,
  settings: AlertSettings,
  withheldUntil: number | null = null,
): number | null {
  if (state.heldFlap) return isAcknowledged({ ...state, phase: state.heldFlap }) ? null : withheldUntil;
  if (state.phase === 'passed') return null;
  if (state.isSettled) return state.isHeld && !isAcknowledged(state) ? withheldUntil : state.nextReminderAt;
  return settings.escalationType === 'TIME_BASED' ? state.since + thresholdMs(settings) : null;
}

function afterRun(state: AlertState, verdict: Verdict, slotAt: number, context: StepContext): Step {
  const type = transitions[state.phase][verdict];
  const { flapping } = context;
  const streak = streakOf(state, verdict, slotAt);
  if (flapping === 'lasts') {
    const settled = { ...streak, isSettled: true, isHeld: false, nextReminderAt: null };
    return lateFlap(settled, context) ?? silent(settled, type);
  }
  if (typeof flapping === 'object') {
    return announced({ ...streak, nextReminderAt: null }, 'ALERT_FLAPPING', context, flapping.begins);
  }
  if (verdict === 'passed') return recovered(state, type, context);
  if (flapping === 'ends') return announced(streak, type, context, verdict);
  const isEscalation = verdict !== state.phase && state.phase !== 'passed';
  const isDue = streak.isSettled
    ? streak.isHeld === true && heldBy(streak, context) === null
    : isEscalation || hasReached(streak, slotAt, context.settings);
  return isDue ? announced(streak, type, context, verdict) : silent(streak, type);
}

/** The streak with one more run, or a new one. */
function streakOf(state: AlertState, verdict: Verdict, slotAt: number): AlertState {
  if (verdict === state.phase) return { ...state, runs: state.runs + 1 };
  return {
    ...state,
    phase: verdict,
    runs: 1,
    since: slotAt,
    isSettled: false,
    remindersSent: 0,
    nextReminderAt: null,
    isHeld: false,
    heldBy: state.heldFlap ? (state.heldBy ?? null) : null,
    // A state worse than the acknowledged one is news.
    acknowledged: covers(state.acknowledged, verdict) ? (state.acknowledged ?? null) : null,
  };
}

function afterTimer(state: AlertState, context: StepContext): Step {
  const type = remainType(state);
  const { phase } = state;
  if (context.flapping === 'lasts') return lateFlap(state, context) ?? silent(state, type);
  if (phase === 'passed') return silent(state, type);
  if (state.isHeld) {
    const by = heldBy(state, context);
    return by === null ? announced(state, type, context, phase) : silent({ ...state, heldBy: by }, type);
  }
  const dueAt = nextTimerAt(sooner(state, context), context.settings);
  if (dueAt === null || dueAt > context.now) return silent(sooner(state, context), type);
  if (!state.isSettled) return announced(state, type, context, phase);
  const { amount } = context.settings.reminders;
  const reminder = state.remindersSent + 1;
  // The settings may allow fewer reminders than when this one was planned.
  if (reminder > amount) return silent({ ...state, nextReminderAt: null }, type);
  if (context.withheld !== null) {
    return silent({ ...state, nextReminderAt: context.withheld.until ?? planReminder(state, context) }, type);
  }
  const reminded = { ...state, remindersSent: reminder };
  const next = { ...reminded, nextReminderAt: planReminder(reminded, context) };
  return { ...silent(next, type), notice: noticeOf(phase), reminder };
}

/** The notice of a flapping check once its hold has ended while the check still flaps. */
function lateFlap(state: AlertState, context: StepContext): Step | null {
  const { heldFlap } = state;
  if (!heldFlap || heldBy({ ...state, phase: heldFlap }, context) !== null) return null;
  return announced({ ...state, isHeld: true }, 'ALERT_FLAPPING', context, heldFlap);
}

/** A silence that ended early leaves its reminder more than one interval ahead. */
function sooner(state: AlertState, context: StepContext): AlertState {
  if (state.nextReminderAt === null || context.withheld !== null) return state;
  const atMost = context.now + context.settings.reminders.interval * minuteMs;
  return state.nextReminderAt <= atMost ? state : { ...state, nextReminderAt: atMost };
}

function recovered(state: AlertState, type: AlertType, { withheld }: StepContext): Step {
  const { failure, degraded } = state.told;
  const recoversFrom = failure ? 'failure' : degraded ? 'degraded' : null;
  // A flapping check may pass for a while before it is stable.
  const isLate = type === 'NO_ALERT' && recoversFrom !== null;
  const lateType = recoversFrom === 'failure' ? 'ALERT_RECOVERY' : 'ALERT_DEGRADED_RECOVERY';
  const step: Step = { ...silent(quietState, isLate ? lateType : type), recoversFrom };
  if (recoversFrom === null) return step;
  if (withheld?.by === 'muted') return { ...step, withheld: { notice: 'recovery', by: 'muted' } };
  return { ...step, notice: 'recovery' };
}

function announced(
  state: AlertState,
  type: AlertType,
  context: StepContext,
  what: Exclude<Verdict, 'passed'>,
): Step {
  const notice = noticeOf(what);
  const settled: AlertState = { ...state, isSettled: true, nextReminderAt: null };
  const by = heldBy({ ...state, phase: what }, context);
  if (by !== null) {
    const flap = typeof context.flapping === 'object' ? { heldFlap: what } : { isHeld: true };
    return { ...silent({ ...settled, heldBy: by, ...flap }, type), withheld: { notice, by } };
  }
  const told: AlertState = {
    ...{ ...settled, isHeld: false, heldBy: null, heldFlap: null },
    ...{ told: { ...state.told, [notice]: true }, remindersSent: 0 },
  };
  const isReminded = context.flapping === 'no' || context.flapping === 'ends';
  const next = { ...told, nextReminderAt: isReminded ? planReminder(told, context) : null };
  // States of an older build do not record what held them: at that time it was always a silence.
  const heldUntilNow = state.isHeld ? (state.heldBy ?? 'silenced') : null;
  return { ...silent(next, type), notice, heldBy: heldUntilNow };
}

function acknowledged(state: AlertState, { flapping }: StepContext): AlertState {
  const worst = state.told.failure || state.phase === 'failed' ? 'failed' : 'degraded';
  if (state.phase === 'passed' && flapping === 'no') return state;
  return { ...state, acknowledged: worst, nextReminderAt: null };
}

/** Resumes where the acknowledgement stopped it: with the held notice, or with reminders. */
function withdrawn(state: AlertState, context: StepContext): Step {
  const free = { ...state, acknowledged: null };
  if (state.phase === 'passed' || state.acknowledged == null) return silent(free, remainType(state));
  if (state.isHeld) return afterTimer(free, context);
  const isReminded =
    state.isSettled && (state.told.failure || state.told.degraded) && context.flapping === 'no';
  const next = isReminded ? { ...free, nextReminderAt: planReminder(free, context) } : free;
  return silent(next, remainType(state));
}

/** Why a notice of the current phase must wait, or null. */
function heldBy(state: AlertState, { withheld }: StepContext): Suppression | null {
  return isAcknowledged(state) ? 'acknowledged' : (withheld?.by ?? null);
}

function isAcknowledged({ acknowledged, phase }: Pick<AlertState, 'acknowledged' | 'phase'>): boolean {
  return acknowledged != null && covers(acknowledged, phase);
}

function covers(acknowledged: AlertState['acknowledged'], verdict: Verdict): boolean {
  return acknowledged === 'failed' || (acknowledged === 'degraded' && verdict !== 'failed');
}

function remainType({ phase }: AlertState): AlertType {
  return transitions[phase][phase];
}

function silent(state: AlertState, type: AlertType): Step {
  return { state, type, notice: null, withheld: null, reminder: 0, recoversFrom: null, heldBy: null };
}

function noticeOf(phase: Verdict): 'failure' | 'degraded' {
  return phase === 'failed' ? 'failure' : 'degraded';
}

function planReminder(state: AlertState, { settings, now }: StepContext): number | null {
  if (state.remindersSent >= settings.reminders.amount || isAcknowledged(state)) return null;
  return now + settings.reminders.interval * minuteMs;
}

function hasReached(state: AlertState, slotAt: number, settings: AlertSettings): boolean {
  switch (settings.escalationType) {
    case 'TIME_BASED':
      return slotAt - state.since >= thresholdMs(settings);
    case 'RUN_BASED':
      return state.runs >= settings.runBasedEscalation.failedRunThreshold;
    // The verdict that trend.ts derives from the last runs already includes the threshold.
    case 'RATIO_BASED':
    case 'COUNT_BASED':
      return true;
  }
}

function thresholdMs(settings: AlertSettings): number {
  return settings.timeBasedEscalation.minutesFailingThreshold * minuteMs;
}
