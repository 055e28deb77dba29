import type { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';

/**
 * The alert state of a check (check model 2.2, 2.3). Its story:
 *
 * A check is `passed`, `degraded` or `failed`, as its last run was; a run of several locations at once counts
 * as one, and a run that the target is not to blame for does not count at all. Runs in a row with the same
 * verdict are a streak. The time from leaving `passed` to being back there is an episode.
 *
 * When a streak begins coming from `passed`, nothing is said before it has reached the threshold: that many
 * runs (RUN_BASED), or that many minutes since its first run (TIME_BASED; time passes without runs too). Then
 * its notice goes out and the streak is settled. A change between `degraded` and `failed` begins a new streak
 * and says so at once, whatever the threshold. A settled streak says nothing more but reminders: up to N of
 * them, a set time apart, none after it ended. Back at `passed`, a recovery is notified if anything of the
 * episode was.
 *
 * A notice that is held (the check is muted, in a maintenance window that silences it, or silenced until a
 * time, or its alert is acknowledged) settles its streak, too. When what holds it ends before the streak does,
 * it is sent then. What comes and goes meanwhile is never sent. Reminders wait. The recovery of what was
 * notified before is notified still, except of a muted check: its incidents at receivers are ended by
 * receivers/close-lost.ts. An acknowledgement holds until the recovery, and for what is no worse than what it
 * was given to: that of a degraded check ends when the check fails.
 *
 * A check that flaps (see trend.ts) is notified of once, and then of nothing until it is stable: a recovery
 * when it is stable at `passed`, one more notice when it is not.
 */
export interface AlertState {
  readonly phase: Verdict;
  /** Runs of the present streak. */
  readonly runs: number;
  /** When the first run of the streak was due, in epoch milliseconds. */
  readonly since: number;
  /** Whether the streak has had its notice, sent or held. */
  readonly isSettled: boolean;
  /** What was notified in this episode. */
  readonly told: { readonly failure: boolean; readonly degraded: boolean };
  readonly remindersSent: number;
  readonly nextReminderAt: number | null;
  /** Whether the streak's notice is held back. Absent in states of an older build, as is what follows. */
  readonly isHeld?: boolean;
  /** What holds it back. */
  readonly heldBy?: Suppression | null;
  /** The worst that a check which flaps changes to, while the notice of that is held back. */
  readonly heldFlap?: Exclude<Verdict, 'passed'> | null;
  /** The worst that somebody acknowledged in this episode. */
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
  'ALERT_SLO_BURN',
  'ALERT_SLO_BURN_OVER',
  'ALERT_TEST',
] as const;
export type AlertType = (typeof alertTypes)[number];

/** What kind of news a notification is; channels choose which they want. */
export type Notice = 'failure' | 'degraded' | 'recovery' | 'ssl' | 'gap';
/** What the verdicts of a check bring. */
type VerdictNotice = Exclude<Notice, 'ssl' | 'gap'>;

/** Why an alert is not sent. */
export const suppressions = ['muted', 'maintenance', 'silenced', 'acknowledged'] as const;
export type Suppression = (typeof suppressions)[number];

/** That alerts of a check are held back, and until when in epoch milliseconds; null where no time is set. */
export interface Withholding {
  readonly by: Exclude<Suppression, 'acknowledged'>;
  readonly until: number | null;
}

/** What happens to the state: a run got its verdict, time has passed, or somebody sees to it. */
export type AlertEvent =
  | { readonly kind: 'run'; readonly verdict: Verdict; readonly slotAt: number }
  | { readonly kind: 'timer' }
  | { readonly kind: 'acknowledgement' }
  | { readonly kind: 'withdrawal' };

export interface StepContext {
  readonly settings: AlertSettings;
  /** Epoch milliseconds; reminders are counted from when the notice was made. */
  readonly now: number;
  /** What holds back alerts now; null when nothing does. */
  readonly withheld: Withholding | null;
  readonly flapping: Flapping;
}

/** Whether a check flaps; when that begins, the worst that it changes to. */
export type Flapping = 'no' | 'lasts' | 'ends' | { readonly begins: Exclude<Verdict, 'passed'> };

export interface Step {
  readonly state: AlertState;
  readonly type: AlertType;
  /** What is to be notified; null when nothing is. */
  readonly notice: VerdictNotice | null;
  /** What would have been notified but for its reason; null when nothing would. */
  readonly withheld: { readonly notice: VerdictNotice; readonly by: Suppression } | null;
  /** 0, or which reminder it is. */
  readonly reminder: number;
  /** For a recovery: the worst that was notified in the episode. */
  readonly recoversFrom: 'failure' | 'degraded' | null;
  /** What had held the notice back until now; null where nothing had. */
  readonly heldBy: Suppression | null;
}

/** The state of a check that passes; the same as having none. */
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

/** The next state, and what is to be notified. */
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
 * @param withheldUntil until when alerts of the check are held back; null when they are not, or no end is known.
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

/** The streak with one run more, or a new one. */
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
    // What is worse than what was acknowledged is news.
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
  // There may be fewer to send than when this one was planned.
  if (reminder > amount) return silent({ ...state, nextReminderAt: null }, type);
  if (context.withheld !== null) {
    return silent({ ...state, nextReminderAt: context.withheld.until ?? planReminder(state, context) }, type);
  }
  const reminded = { ...state, remindersSent: reminder };
  const next = { ...reminded, nextReminderAt: planReminder(reminded, context) };
  return { ...silent(next, type), notice: noticeOf(phase), reminder };
}

/** The notice of a check that flaps, once what held it back has ended while it flaps on. */
function lateFlap(state: AlertState, context: StepContext): Step | null {
  const { heldFlap } = state;
  if (!heldFlap || heldBy({ ...state, phase: heldFlap }, context) !== null) return null;
  return announced({ ...state, isHeld: true }, 'ALERT_FLAPPING', context, heldFlap);
}

/** A silence that ended early leaves its reminder further off than one interval. */
function sooner(state: AlertState, context: StepContext): AlertState {
  if (state.nextReminderAt === null || context.withheld !== null) return state;
  const atMost = context.now + context.settings.reminders.interval * minuteMs;
  return state.nextReminderAt <= atMost ? state : { ...state, nextReminderAt: atMost };
}

function recovered(state: AlertState, type: AlertType, { withheld }: StepContext): Step {
  const { failure, degraded } = state.told;
  const recoversFrom = failure ? 'failure' : degraded ? 'degraded' : null;
  // What flapped may have passed for a while before it is stable.
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
  // States of an older build do not say what held them: it was a silence then.
  const heldUntilNow = state.isHeld ? (state.heldBy ?? 'silenced') : null;
  return { ...silent(next, type), notice, heldBy: heldUntilNow };
}

function acknowledged(state: AlertState, { flapping }: StepContext): AlertState {
  const worst = state.told.failure || state.phase === 'failed' ? 'failed' : 'degraded';
  if (state.phase === 'passed' && flapping === 'no') return state;
  return { ...state, acknowledged: worst, nextReminderAt: null };
}

/** Goes on where the acknowledgement stopped it: with the notice that was held, or with reminders. */
function withdrawn(state: AlertState, context: StepContext): Step {
  const free = { ...state, acknowledged: null };
  if (state.phase === 'passed' || state.acknowledged == null) return silent(free, remainType(state));
  if (state.isHeld) return afterTimer(free, context);
  const isReminded =
    state.isSettled && (state.told.failure || state.told.degraded) && context.flapping === 'no';
  const next = isReminded ? { ...free, nextReminderAt: planReminder(free, context) } : free;
  return silent(next, remainType(state));
}

/** Why a notice of the present phase has to wait, or null. */
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
    // What trend.ts makes of the last runs has reached it already.
    case 'RATIO_BASED':
    case 'COUNT_BASED':
      return true;
  }
}

function thresholdMs(settings: AlertSettings): number {
  return settings.timeBasedEscalation.minutesFailingThreshold * minuteMs;
}
