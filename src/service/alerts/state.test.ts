import { describe, expect, it } from 'vitest';
import { AlertSettings } from '../../checks/contract/common-fields.ts';
import {
  type AlertState,
  type AlertType,
  nextTimerAt,
  quietState,
  type Step,
  step,
  type Verdict,
} from './state.ts';

const minuteMs = 60_000;
const defaults = AlertSettings.parse({});

/** One check's story: runs a minute apart by default. */
class Story {
  state: AlertState = quietState;
  now = 0;
  settings: AlertSettings;
  isSuppressed = false;

  constructor(settings: object = {}) {
    this.settings = AlertSettings.parse(settings);
  }

  run(verdict: Verdict, afterMinutes = 1): Step {
    this.now += afterMinutes * minuteMs;
    return this.#take({ kind: 'run', verdict, slotAt: this.now });
  }

  wait(minutes: number): Step {
    this.now += minutes * minuteMs;
    return this.#take({ kind: 'timer' });
  }

  #take(event: Parameters<typeof step>[1]): Step {
    const { settings, now, isSuppressed } = this;
    const taken = step(this.state, event, { settings, now, isSuppressed });
    this.state = taken.state;
    return taken;
  }

  get timerInMinutes(): number | null {
    const at = nextTimerAt(this.state, this.settings);
    return at === null ? null : (at - this.now) / minuteMs;
  }
}

const said = ({ type, notice, reminder }: Step) => ({ type, notice, reminder });
const nothing = (type: AlertType) => ({ type, notice: null, reminder: 0 });

describe('the table of transitions', () => {
  const first: Record<Verdict, Verdict[]> = { passed: [], degraded: ['degraded'], failed: ['failed'] };
  it.each<[Verdict, Verdict, AlertType, Step['notice']]>([
    ['passed', 'passed', 'NO_ALERT', null],
    ['passed', 'degraded', 'ALERT_DEGRADED', 'degraded'],
    ['passed', 'failed', 'ALERT_FAILURE', 'failure'],
    ['degraded', 'degraded', 'ALERT_DEGRADED_REMAIN', null],
    ['degraded', 'passed', 'ALERT_DEGRADED_RECOVERY', 'recovery'],
    ['degraded', 'failed', 'ALERT_DEGRADED_FAILURE', 'failure'],
    ['failed', 'failed', 'ALERT_FAILURE_REMAIN', null],
    ['failed', 'degraded', 'ALERT_FAILURE_DEGRADED', 'degraded'],
    ['failed', 'passed', 'ALERT_RECOVERY', 'recovery'],
  ])('%s -> %s is %s and tells %s', (from, to, type, notice) => {
    const story = new Story();
    for (const verdict of first[from]) story.run(verdict);
    expect(said(story.run(to))).toEqual({ type, notice, reminder: 0 });
  });

  it.each<[Verdict, Verdict, AlertType, Step['notice']]>([
    // Threshold 3, one run before: what it holds for is silent, what overrides it is not.
    ['passed', 'degraded', 'ALERT_DEGRADED', null],
    ['passed', 'failed', 'ALERT_FAILURE', null],
    ['degraded', 'degraded', 'ALERT_DEGRADED_REMAIN', null],
    ['degraded', 'passed', 'ALERT_DEGRADED_RECOVERY', null],
    ['degraded', 'failed', 'ALERT_DEGRADED_FAILURE', 'failure'],
    ['failed', 'failed', 'ALERT_FAILURE_REMAIN', null],
    ['failed', 'degraded', 'ALERT_FAILURE_DEGRADED', 'degraded'],
    ['failed', 'passed', 'ALERT_RECOVERY', null],
  ])('below a threshold of 3 runs, %s -> %s is %s and tells %s', (from, to, type, notice) => {
    const story = new Story({ runBasedEscalation: { failedRunThreshold: 3 } });
    for (const verdict of first[from]) story.run(verdict);
    expect(said(story.run(to))).toEqual({ type, notice, reminder: 0 });
  });

  it('comes back to the state it began with', () => {
    const story = new Story();
    for (const verdict of ['failed', 'degraded', 'failed', 'passed'] as const) story.run(verdict);
    expect(story.state).toEqual(quietState);
  });
});

describe('escalation by runs', () => {
  it.each<[Verdict, AlertType, Step['notice']]>([
    ['failed', 'ALERT_FAILURE_REMAIN', 'failure'],
    ['degraded', 'ALERT_DEGRADED_REMAIN', 'degraded'],
  ])('reports %s once, at the run that reaches the threshold', (verdict, type, notice) => {
    const story = new Story({ runBasedEscalation: { failedRunThreshold: 3 } });
    const told = [1, 2, 3, 4, 5].map(() => said(story.run(verdict)).notice);
    expect(told).toEqual([null, null, notice, null, null]);
    expect(story.run(verdict).type).toBe(type);
    expect(said(story.run('passed'))).toMatchObject({ notice: 'recovery' });
  });

  it('begins to count again after a run that passed', () => {
    const story = new Story({ runBasedEscalation: { failedRunThreshold: 2 } });
    const verdicts = ['failed', 'passed', 'failed', 'passed', 'failed', 'failed'] as const;
    expect(verdicts.map((verdict) => story.run(verdict).notice)).toEqual([
      null,
      null,
      null,
      null,
      null,
      'failure',
    ]);
  });
});

describe('escalation by time', () => {
  const settings = { escalationType: 'TIME_BASED', timeBasedEscalation: { minutesFailingThreshold: 10 } };

  it('tells when it has been failing for so long, without another run', () => {
    const story = new Story(settings);
    expect(story.run('failed').notice).toBeNull();
    expect(story.timerInMinutes).toBe(10);
    expect(said(story.wait(9))).toEqual(nothing('ALERT_FAILURE_REMAIN'));
    expect(said(story.wait(1))).toEqual({ type: 'ALERT_FAILURE_REMAIN', notice: 'failure', reminder: 0 });
    expect(story.timerInMinutes).toBeNull();
    expect(story.run('failed').notice).toBeNull();
    expect(story.run('passed').notice).toBe('recovery');
  });

  it('tells at the run that shows it, and not when it recovered before', () => {
    const story = new Story(settings);
    story.run('failed');
    expect(story.run('failed', 10).notice).toBe('failure');
    const other = new Story(settings);
    other.run('failed');
    expect(other.run('passed', 9).notice).toBeNull();
    expect(said(other.wait(5))).toEqual(nothing('NO_ALERT'));
  });
});

describe('reminders', () => {
  it('come as often and as far apart as configured, and stop', () => {
    const story = new Story({ reminders: { amount: 2, interval: 5 } });
    story.run('failed');
    expect(story.timerInMinutes).toBe(5);
    expect(story.wait(4).notice).toBeNull();
    expect(said(story.wait(1))).toEqual({ type: 'ALERT_FAILURE_REMAIN', notice: 'failure', reminder: 1 });
    expect(story.run('failed').notice).toBeNull();
    expect(said(story.wait(4))).toEqual({ type: 'ALERT_FAILURE_REMAIN', notice: 'failure', reminder: 2 });
    expect(story.timerInMinutes).toBeNull();
    expect(story.wait(60).notice).toBeNull();
  });

  it('go on until the recovery where the amount is 100000', () => {
    const story = new Story({ reminders: { amount: 100_000, interval: 1 } });
    story.run('failed');
    for (let count = 1; count <= 50; count += 1) expect(story.wait(1).reminder).toBe(count);
    story.run('passed');
    expect(said(story.wait(1))).toEqual(nothing('NO_ALERT'));
  });

  it('begin again with every change between degraded and failed', () => {
    const story = new Story({ reminders: { amount: 1, interval: 5 } });
    story.run('degraded');
    expect(said(story.wait(5))).toEqual({ type: 'ALERT_DEGRADED_REMAIN', notice: 'degraded', reminder: 1 });
    expect(story.run('failed').notice).toBe('failure');
    expect(story.wait(5).reminder).toBe(1);
  });

  it('stop where there are fewer to send than when they were planned', () => {
    const story = new Story({ reminders: { amount: 5, interval: 1 } });
    story.run('failed');
    story.settings = defaults;
    expect(said(story.wait(1))).toEqual(nothing('ALERT_FAILURE_REMAIN'));
    expect(story.timerInMinutes).toBeNull();
  });
});

describe('what is suppressed', () => {
  it('is not sent later, has no reminders and no recovery', () => {
    const story = new Story({ reminders: { amount: 3, interval: 1 } });
    story.isSuppressed = true;
    expect(said(story.run('failed'))).toEqual(nothing('ALERT_FAILURE'));
    story.isSuppressed = false;
    expect(story.timerInMinutes).toBeNull();
    expect(story.run('failed').notice).toBeNull();
    expect(story.run('passed').notice).toBeNull();
  });

  it('swallows a recovery and a reminder that fall into it', () => {
    const story = new Story({ reminders: { amount: 3, interval: 1 } });
    expect(story.run('failed').notice).toBe('failure');
    story.isSuppressed = true;
    expect(story.wait(1).notice).toBeNull();
    story.isSuppressed = false;
    expect(said(story.wait(1))).toMatchObject({ notice: 'failure', reminder: 2 });
    story.isSuppressed = true;
    expect(story.run('passed').notice).toBeNull();
    expect(story.state).toEqual(quietState);
  });
});

describe('a recovery', () => {
  it.each<[Verdict[], 'failure' | 'degraded']>([
    [['degraded'], 'degraded'],
    [['failed'], 'failure'],
    [['failed', 'degraded'], 'failure'],
    [['degraded', 'failed'], 'failure'],
  ])('after %j says it was from %s', (verdicts, from) => {
    const story = new Story();
    for (const verdict of verdicts) story.run(verdict);
    expect(story.run('passed')).toMatchObject({ notice: 'recovery', recoversFrom: from });
  });
});
