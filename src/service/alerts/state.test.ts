import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import { describe, expect, it } from 'vitest';
import {
  type AlertState,
  type AlertType,
  nextTimerAt,
  quietState,
  type Step,
  step,
  type Verdict,
  type Withholding,
} from './state.ts';

const minuteMs = 60_000;
const defaults = AlertSettings.parse({});

/** One check's story: runs a minute apart by default. */
class Story {
  state: AlertState = quietState;
  now = 0;
  settings: AlertSettings;
  isMuted = false;
  silencedUntil: number | null = null;
  inMaintenanceUntil: number | null = null;

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

  see(kind: 'acknowledgement' | 'withdrawal'): Step {
    return this.#take({ kind });
  }

  silence(minutes: number): void {
    this.silencedUntil = this.now + minutes * minuteMs;
  }

  #take(event: Parameters<typeof step>[1]): Step {
    // An expired silence does not count.
    if (this.silencedUntil !== null && this.silencedUntil <= this.now) this.silencedUntil = null;
    if (this.inMaintenanceUntil !== null && this.inMaintenanceUntil <= this.now)
      this.inMaintenanceUntil = null;
    const { settings, now } = this;
    const taken = step(this.state, event, { settings, now, withheld: this.withheld, flapping: 'no' });
    this.state = taken.state;
    return taken;
  }

  get withheld(): Withholding | null {
    const { isMuted, inMaintenanceUntil, silencedUntil } = this;
    if (isMuted) return { by: 'muted', until: null };
    if (inMaintenanceUntil !== null) return { by: 'maintenance', until: inMaintenanceUntil };
    return silencedUntil === null ? null : { by: 'silenced', until: silencedUntil };
  }

  get timerInMinutes(): number | null {
    const at = nextTimerAt(this.state, this.settings, this.withheld?.until ?? null);
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
    // Threshold 3, one earlier run: events below the threshold are silent, overriding ones are not.
    ['passed', 'degraded', 'ALERT_DEGRADED', null],
    ['passed', 'failed', 'ALERT_FAILURE', null],
    ['degraded', 'degraded', 'ALERT_DEGRADED_REMAIN', null],
    ['degraded', 'passed', 'ALERT_DEGRADED_RECOVERY', null],
    ['degraded', 'failed', 'ALERT_DEGRADED_FAILURE', 'failure'],
    ['failed', 'failed', 'ALERT_FAILURE_REMAIN', null],
    ['failed', 'degraded', 'ALERT_FAILURE_DEGRADED', 'degraded'],
    ['failed', 'passed', 'ALERT_RECOVERY', null],
  ])('below a threshold of 3 runs, %s -> %s is %s and sends %s', (from, to, type, notice) => {
    const story = new Story({ runBasedEscalation: { failedRunThreshold: 3 } });
    for (const verdict of first[from]) story.run(verdict);
    expect(said(story.run(to))).toEqual({ type, notice, reminder: 0 });
  });

  it('returns to its initial state', () => {
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

  it('restarts the count after a run that passed', () => {
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

  it('notifies after the configured time of failure, without another run', () => {
    const story = new Story(settings);
    expect(story.run('failed').notice).toBeNull();
    expect(story.timerInMinutes).toBe(10);
    expect(said(story.wait(9))).toEqual(nothing('ALERT_FAILURE_REMAIN'));
    expect(said(story.wait(1))).toEqual({ type: 'ALERT_FAILURE_REMAIN', notice: 'failure', reminder: 0 });
    expect(story.timerInMinutes).toBeNull();
    expect(story.run('failed').notice).toBeNull();
    expect(story.run('passed').notice).toBe('recovery');
  });

  it('notifies at the run that shows it, and not if it recovered before', () => {
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
  it('are sent as often and as far apart as configured, and stop', () => {
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

  it('continue until the recovery if the amount is 100000', () => {
    const story = new Story({ reminders: { amount: 100_000, interval: 1 } });
    story.run('failed');
    for (let count = 1; count <= 50; count += 1) expect(story.wait(1).reminder).toBe(count);
    story.run('passed');
    expect(said(story.wait(1))).toEqual(nothing('NO_ALERT'));
  });

  it('restart with every change between degraded and failed', () => {
    const story = new Story({ reminders: { amount: 1, interval: 5 } });
    story.run('degraded');
    expect(said(story.wait(5))).toEqual({ type: 'ALERT_DEGRADED_REMAIN', notice: 'degraded', reminder: 1 });
    expect(story.run('failed').notice).toBe('failure');
    expect(story.wait(5).reminder).toBe(1);
  });

  it('stop if the number is reduced after they were planned', () => {
    const story = new Story({ reminders: { amount: 5, interval: 1 } });
    story.run('failed');
    story.settings = defaults;
    expect(said(story.wait(1))).toEqual(nothing('ALERT_FAILURE_REMAIN'));
    expect(story.timerInMinutes).toBeNull();
  });
});

describe('a maintenance window', () => {
  it('holds a notice, which is sent when the window ends and the check still fails', () => {
    const story = new Story();
    story.inMaintenanceUntil = 30 * minuteMs;
    expect(story.run('failed').withheld).toEqual({ notice: 'failure', by: 'maintenance' });
    expect(story.timerInMinutes).toBe(29);
    expect(story.wait(28).notice).toBeNull();
    expect(story.wait(1)).toMatchObject({ notice: 'failure', heldBy: 'maintenance' });
    expect(story.wait(60).notice).toBeNull();
    expect(story.run('passed')).toMatchObject({ notice: 'recovery', heldBy: null });
  });

  it('lets the recovery of an earlier notification pass, and delays reminders', () => {
    const story = new Story({ reminders: { amount: 3, interval: 1 } });
    expect(story.run('failed').notice).toBe('failure');
    story.inMaintenanceUntil = 30 * minuteMs;
    expect(story.wait(1).notice).toBeNull();
    expect(story.timerInMinutes).toBe(28);
    expect(story.run('passed').notice).toBe('recovery');
    expect(story.state).toEqual(quietState);
  });

  it('says nothing of what came and went in it', () => {
    const story = new Story();
    story.inMaintenanceUntil = 30 * minuteMs;
    story.run('failed');
    expect(story.run('passed')).toMatchObject({ notice: null, withheld: null });
    expect(story.wait(60).notice).toBeNull();
  });
});

describe('a mute', () => {
  it('holds a notice until it is lifted, with the next run or before', () => {
    for (const after of ['run', 'wait'] as const) {
      const story = new Story();
      story.isMuted = true;
      expect(story.run('failed').withheld).toEqual({ notice: 'failure', by: 'muted' });
      expect(story.timerInMinutes).toBeNull();
      expect(story.run('failed').withheld).toBeNull();
      story.isMuted = false;
      const late = after === 'run' ? story.run('failed') : story.wait(1);
      expect(late).toMatchObject({ notice: 'failure', heldBy: 'muted' });
    }
  });

  it('withholds the recovery of an earlier notification, and counts no reminder', () => {
    const story = new Story({ reminders: { amount: 3, interval: 1 } });
    expect(story.run('failed').notice).toBe('failure');
    story.isMuted = true;
    expect(story.wait(1).notice).toBeNull();
    story.isMuted = false;
    expect(said(story.wait(1))).toMatchObject({ notice: 'failure', reminder: 1 });
    story.isMuted = true;
    expect(story.run('passed').withheld).toEqual({ notice: 'recovery', by: 'muted' });
    expect(story.state).toEqual(quietState);
  });
});

describe('an acknowledged alert', () => {
  const settings = { reminders: { amount: 100_000, interval: 5 } };

  it('has no more reminders, and its recovery is notified', () => {
    const story = new Story(settings);
    story.run('failed');
    expect(story.see('acknowledgement').notice).toBeNull();
    expect(story.timerInMinutes).toBeNull();
    expect(story.wait(60).notice).toBeNull();
    expect(story.run('failed').notice).toBeNull();
    expect(story.run('passed')).toMatchObject({ notice: 'recovery', recoversFrom: 'failure' });
    expect(story.state).toEqual(quietState);
    expect(story.run('failed').notice).toBe('failure');
  });

  it('does not escalate: neither by its threshold nor by getting better, but by getting worse', () => {
    const late = new Story({ runBasedEscalation: { failedRunThreshold: 2 } });
    late.run('failed');
    late.see('acknowledgement');
    expect(late.run('failed')).toMatchObject({
      notice: null,
      withheld: { notice: 'failure', by: 'acknowledged' },
    });
    expect(late.run('failed').withheld).toBeNull();
    const better = new Story();
    better.run('failed');
    better.see('acknowledgement');
    expect(better.run('degraded').withheld).toEqual({ notice: 'degraded', by: 'acknowledged' });
    expect(better.run('failed').withheld).toEqual({ notice: 'failure', by: 'acknowledged' });
    const worse = new Story(settings);
    worse.run('degraded');
    worse.see('acknowledgement');
    expect(worse.run('failed').notice).toBe('failure');
    expect(worse.timerInMinutes).toBe(5);
  });

  it('continues when the acknowledgement is withdrawn', () => {
    const reminded = new Story(settings);
    reminded.run('failed');
    reminded.see('acknowledgement');
    expect(reminded.see('withdrawal').notice).toBeNull();
    expect(reminded.timerInMinutes).toBe(5);
    const held = new Story({ runBasedEscalation: { failedRunThreshold: 2 } });
    held.run('failed');
    held.see('acknowledgement');
    held.run('failed');
    expect(held.see('withdrawal').notice).toBe('failure');
  });

  it('is impossible for a check that passes', () => {
    const story = new Story();
    story.see('acknowledgement');
    expect(story.state).toEqual(quietState);
  });
});

describe('a silence', () => {
  it('holds a notice, and sends it when the silence ends before the failure does', () => {
    const story = new Story({ reminders: { amount: 1, interval: 5 } });
    story.silence(30);
    expect(story.run('failed')).toMatchObject({
      notice: null,
      withheld: { notice: 'failure', by: 'silenced' },
    });
    expect(story.run('failed').withheld).toBeNull();
    expect(story.timerInMinutes).toBe(28);
    expect(story.wait(27).notice).toBeNull();
    expect(said(story.wait(1))).toEqual({ type: 'ALERT_FAILURE_REMAIN', notice: 'failure', reminder: 0 });
    expect(story.wait(5).reminder).toBe(1);
  });

  it('says nothing of what came and went in it', () => {
    const story = new Story();
    story.silence(30);
    story.run('failed');
    expect(story.run('passed')).toMatchObject({ notice: null, withheld: null });
    expect(story.wait(60).notice).toBeNull();
  });

  it('lets the recovery of an earlier notification pass', () => {
    const story = new Story();
    story.run('failed');
    story.silence(30);
    expect(story.run('passed').notice).toBe('recovery');
  });

  it('delays reminders to its end, and to the usual time when it is ended early', () => {
    const story = new Story({ reminders: { amount: 2, interval: 5 } });
    story.run('failed');
    story.silence(60);
    expect(story.wait(5).notice).toBeNull();
    expect(story.timerInMinutes).toBe(55);
    story.silencedUntil = null;
    expect(story.wait(1).notice).toBeNull();
    expect(story.timerInMinutes).toBe(5);
    expect(story.wait(5).reminder).toBe(1);
  });

  it('may end in a maintenance window, whose end is then awaited', () => {
    const story = new Story();
    story.silence(30);
    expect(story.run('failed').withheld?.by).toBe('silenced');
    story.inMaintenanceUntil = 60 * minuteMs;
    expect(story.wait(30).notice).toBeNull();
    expect(story.timerInMinutes).toBe(29);
    expect(story.wait(29)).toMatchObject({ notice: 'failure', heldBy: 'maintenance' });
  });
});

describe('a recovery', () => {
  it.each<[Verdict[], 'failure' | 'degraded']>([
    [['degraded'], 'degraded'],
    [['failed'], 'failure'],
    [['failed', 'degraded'], 'failure'],
    [['degraded', 'failed'], 'failure'],
  ])('after %j says that it was from %s', (verdicts, from) => {
    const story = new Story();
    for (const verdict of verdicts) story.run(verdict);
    expect(story.run('passed')).toMatchObject({ notice: 'recovery', recoversFrom: from });
  });
});
