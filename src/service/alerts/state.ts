import type { AlertSettings } from '../../checks/contract/common-fields.ts';

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
 * A notice that is suppressed (the check is muted, or in maintenance) settles its streak like any other: it
 * is not sent later, has no reminders, and an alert that was never sent has no recovery.
 */
export interface AlertState {
  readonly phase: Verdict;
  /** Runs of the present streak. */
  readonly runs: number;
  /** When the first run of the streak was due, in epoch milliseconds. */
  readonly since: number;
  /** Whether the streak has had its notice, sent or suppressed. */
  readonly isSettled: boolean;
  /** What was notified in this episode. */
  readonly told: { readonly failure: boolean; readonly degraded: boolean };
  readonly remindersSent: number;
  readonly nextReminderAt: number | null;
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
  'ALERT_SSL',
  'ALERT_LOCATION_AWAY',
  'ALERT_LOCATION_BACK',
  'ALERT_LOCATION_SICK',
  'ALERT_LOCATION_WELL',
  'ALERT_TEST',
] as const;
export type AlertType = (typeof alertTypes)[number];

/** What kind of news a notification is; channels choose which they want. */
export type Notice = 'failure' | 'degraded' | 'recovery' | 'ssl';

/** What happens to the state: a run got its verdict, or time has passed. */
export type AlertEvent =
  | { readonly kind: 'run'; readonly verdict: Verdict; readonly slotAt: number }
  | { readonly kind: 'timer' };

export interface StepContext {
  readonly settings: AlertSettings;
  /** Epoch milliseconds; reminders are counted from when the notice was made. */
  readonly now: number;
  /** Whether nobody may be notified now. */
  readonly isSuppressed: boolean;
}

export interface Step {
  readonly state: AlertState;
  readonly type: AlertType;
  /** What is to be notified; null when nothing is. */
  readonly notice: Exclude<Notice, 'ssl'> | null;
  /** 0, or which reminder it is. */
  readonly reminder: number;
  /** For a recovery: the worst that was notified in the episode. */
  readonly recoversFrom: 'failure' | 'degraded' | null;
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
  return event.kind === 'timer'
    ? afterTimer(state, context)
    : afterRun(state, event.verdict, event.slotAt, context);
}

/** When time alone may change something, or null. */
export function nextTimerAt(state: AlertState, settings: AlertSettings): number | null {
  if (state.phase === 'passed') return null;
  if (state.isSettled) return state.nextReminderAt;
  return settings.escalationType === 'TIME_BASED' ? state.since + thresholdMs(settings) : null;
}

function afterRun(state: AlertState, verdict: Verdict, slotAt: number, context: StepContext): Step {
  const type = transitions[state.phase][verdict];
  if (verdict === 'passed') return recovered(state, type, context);
  const isSame = verdict === state.phase;
  const streak: AlertState = isSame
    ? { ...state, runs: state.runs + 1 }
    : {
        ...state,
        phase: verdict,
        runs: 1,
        since: slotAt,
        isSettled: false,
        remindersSent: 0,
        nextReminderAt: null,
      };
  const isEscalation = !isSame && state.phase !== 'passed';
  const isDue = !streak.isSettled && (isEscalation || hasReached(streak, slotAt, context.settings));
  return isDue ? announced(streak, type, context) : silent(streak, type);
}

function afterTimer(state: AlertState, context: StepContext): Step {
  const type = transitions[state.phase][state.phase];
  const dueAt = nextTimerAt(state, context.settings);
  if (dueAt === null || dueAt > context.now) return silent(state, type);
  if (!state.isSettled) return announced(state, type, context);
  const { amount } = context.settings.reminders;
  const reminder = state.remindersSent + 1;
  // There may be fewer to send than when this one was planned.
  if (reminder > amount) return silent({ ...state, nextReminderAt: null }, type);
  const reminded = { ...state, remindersSent: reminder };
  const next = { ...reminded, nextReminderAt: planReminder(reminded, context) };
  if (context.isSuppressed) return silent(next, type);
  return { state: next, type, notice: noticeOf(state.phase), reminder, recoversFrom: null };
}

function recovered(state: AlertState, type: AlertType, { isSuppressed }: StepContext): Step {
  const { failure, degraded } = state.told;
  const recoversFrom = failure ? 'failure' : degraded ? 'degraded' : null;
  const notice = recoversFrom === null || isSuppressed ? null : 'recovery';
  return { state: quietState, type, notice, reminder: 0, recoversFrom };
}

function announced(state: AlertState, type: AlertType, context: StepContext): Step {
  const notice = noticeOf(state.phase);
  if (context.isSuppressed) return silent({ ...state, isSettled: true, nextReminderAt: null }, type);
  const settled: AlertState = {
    ...state,
    isSettled: true,
    told: { ...state.told, [notice]: true },
    remindersSent: 0,
  };
  const next = { ...settled, nextReminderAt: planReminder(settled, context) };
  return { state: next, type, notice, reminder: 0, recoversFrom: null };
}

function silent(state: AlertState, type: AlertType): Step {
  return { state, type, notice: null, reminder: 0, recoversFrom: null };
}

function noticeOf(phase: Verdict): 'failure' | 'degraded' {
  return phase === 'failed' ? 'failure' : 'degraded';
}

function planReminder(state: AlertState, { settings, now }: StepContext): number | null {
  if (state.remindersSent >= settings.reminders.amount) return null;
  return now + settings.reminders.interval * minuteMs;
}

function hasReached(state: AlertState, slotAt: number, settings: AlertSettings): boolean {
  return settings.escalationType === 'TIME_BASED'
    ? slotAt - state.since >= thresholdMs(settings)
    : state.runs >= settings.runBasedEscalation.failedRunThreshold;
}

function thresholdMs(settings: AlertSettings): number {
  return settings.timeBasedEscalation.minutesFailingThreshold * minuteMs;
}
