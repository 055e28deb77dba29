import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AlertEvent, type Flapping, nextTimerAt, quietState, step, type Verdict } from './state.ts';
import { follow, isSteady, steadyTrend } from './trend.ts';

const minuteMs = 60_000;

/** The notifications of a check with runs a minute apart, run by run. */
class Check {
  readonly settings: AlertSettings;
  trend = steadyTrend;
  state = quietState;
  now = 0;
  silencedUntil: number | null = null;

  constructor(settings: object) {
    this.settings = AlertSettings.parse(settings);
  }

  run(verdict: Verdict, afterMinutes = 1) {
    this.now += afterMinutes * minuteMs;
    const followed = follow(this.trend, { verdict, slotAt: this.now }, this.settings);
    this.trend = followed.trend;
    const flapping = followed.flapping;
    return this.take({ kind: 'run', verdict: followed.verdict, slotAt: this.now }, flapping);
  }

  take(event: AlertEvent, flapping: Flapping = this.trend.isFlapping ? 'lasts' : 'no') {
    const { settings, now } = this;
    if (this.silencedUntil !== null && this.silencedUntil <= now) this.silencedUntil = null;
    const { silencedUntil: until } = this;
    const withheld = until === null ? null : ({ by: 'silenced', until } as const);
    const taken = step(this.state, event, { settings, now, withheld, flapping });
    this.state = taken.state;
    return taken;
  }
}

const letters = { P: 'passed', D: 'degraded', F: 'failed' } as const;
/** Runs a minute apart, written `FPF`; notifications are written f, d or r, and `x` for flapping. */
function told(check: Check, runs: string): string {
  return [...runs]
    .map((letter) => {
      const { notice, type } = check.run(letters[letter as 'P']);
      return type === 'ALERT_FLAPPING' && notice ? 'x' : (notice?.[0] ?? '.');
    })
    .join('');
}

describe('x of y', () => {
  const check = () => new Check({ escalationType: 'RATIO_BASED', flapping: { enabled: false } });
  it.each([
    ['FPFPF', '....f'],
    ['FFF', '..f'],
    ['FPPFPPF', '.......'],
    // Over when fewer than three of the last five failed.
    ['FFFFFPPP', '..f....r'],
    ['FPFPFP', '....fr'],
    ['DPDPD', '....d'],
    // Three have not passed, but only two have failed.
    ['FDPFP', '...d.'],
    ['DDDFFF', '..d..f'],
  ])('of %s tells %s', (runs, what) => {
    expect(told(check(), runs)).toBe(what);
  });

  it('keeps no state of a check that passes', () => {
    const one = check();
    told(one, 'FPFFPPPPP');
    expect(isSteady(one.trend)).toBe(true);
  });
});

describe('n failures in m minutes', () => {
  const settings = {
    escalationType: 'COUNT_BASED',
    countBasedEscalation: { failedRunThreshold: 3, minutes: 10 },
    flapping: { enabled: false },
  };
  it.each([
    ['FPPFPPF', '......f'],
    ['FPPPPPFPPPPPF', '.............'],
    // Over with the pass that leaves fewer than three in ten minutes.
    ['FFFPPPPPPPP', '..f.......r'],
  ])('of %s tells %s', (runs, what) => {
    expect(told(new Check(settings), runs)).toBe(what);
  });
});

describe('a threshold that changes', () => {
  it('neither alerts with a run that passes nor recovers with one that fails', () => {
    const check = new Check({});
    check.run('failed');
    Object.assign(check.settings, { escalationType: 'RATIO_BASED' });
    expect(check.run('failed')).toMatchObject({ notice: null, type: 'ALERT_FAILURE_REMAIN' });
    expect(check.run('passed').notice).toBe('recovery');
  });
});

describe('flapping', () => {
  const settings = { flapping: { changes: 3, minutes: 60, stableMinutes: 5 } };

  it('is notified once, and nothing else until the check is stable', () => {
    expect(told(new Check(settings), 'FPFPFPFPFP')).toBe('frfx......');
  });

  it('ends with a recovery when the check passes for long enough', () => {
    expect(told(new Check(settings), 'FPFPPPPPPP')).toBe('frfx....r.');
  });

  it('ends with one more notice when the check remains failed, and a recovery after it', () => {
    expect(told(new Check(settings), 'FPFPFFFFFFFP')).toBe('frfx.....f.r');
  });

  it('is reported as degraded if no run fails', () => {
    const check = new Check(settings);
    told(check, 'DPD');
    expect(check.run('passed')).toMatchObject({ type: 'ALERT_FLAPPING', notice: 'degraded' });
  });

  it('is not detected if the changes are too far apart', () => {
    const check = new Check({ flapping: { changes: 3, minutes: 10, stableMinutes: 5 } });
    for (const verdict of ['failed', 'passed', 'failed', 'passed', 'failed'] as const) {
      expect(check.run(verdict, 4).type).not.toBe('ALERT_FLAPPING');
    }
  });

  it('ends when it is disabled', () => {
    const check = new Check(settings);
    told(check, 'FPFP');
    check.settings.flapping.enabled = false;
    expect(check.run('failed').notice).toBe('failure');
  });
});

describe('whatever happens', () => {
  type Deed = Verdict | 'wait' | 'acknowledge' | 'withdraw' | 'silence';
  const deed = fc.constantFrom<Deed>(
    ...([
      'passed',
      'passed',
      'failed',
      'failed',
      'degraded',
      'wait',
      'acknowledge',
      'withdraw',
      'silence',
    ] as const),
  );
  const settings = fc.record({
    escalationType: fc.constantFrom('RUN_BASED', 'TIME_BASED', 'RATIO_BASED', 'COUNT_BASED'),
    runBasedEscalation: fc.record({ failedRunThreshold: fc.integer({ min: 1, max: 3 }) }),
    flapping: fc.record({
      changes: fc.integer({ min: 2, max: 6 }),
      stableMinutes: fc.integer({ min: 1, max: 9 }),
    }),
    reminders: fc.record({ amount: fc.constantFrom(0, 2, 100_000), interval: fc.constantFrom(1, 5) }),
  });

  it('an alert has one recovery, a silent check sends nothing new, and a stable failure is notified', () => {
    fc.assert(
      fc.property(settings, fc.array(deed, { maxLength: 60 }), (given, deeds) => {
        const check = new Check(given);
        let isTold = false;
        let flapsTold = 0;
        const judge = (taken: ReturnType<Check['take']>) => {
          const { notice, type } = taken;
          if (notice === 'recovery') {
            expect(isTold).toBe(true);
            isTold = false;
          } else if (notice !== null) {
            expect(check.silencedUntil).toBeNull();
            isTold = true;
            flapsTold = type === 'ALERT_FLAPPING' ? flapsTold + 1 : flapsTold;
            if (check.trend.isFlapping) expect(type).toBe('ALERT_FLAPPING');
          }
          if (!check.trend.isFlapping) flapsTold = 0;
          expect(flapsTold).toBeLessThanOrEqual(1);
        };
        for (const what of deeds) {
          if (what === 'wait') {
            check.now += minuteMs;
            judge(check.take({ kind: 'timer' }));
          } else if (what === 'silence') check.silencedUntil = check.now + 3 * minuteMs;
          else if (what === 'acknowledge') judge(check.take({ kind: 'acknowledgement' }));
          else if (what === 'withdraw') judge(check.take({ kind: 'withdrawal' }));
          else judge(check.run(what));
          const { acknowledged } = check.state;
          // An acknowledged alert has no timer except that of its threshold.
          if (acknowledged === 'failed' && check.state.isSettled) {
            expect(nextTimerAt(check.state, check.settings, check.silencedUntil)).toBeNull();
          }
        }
        // In the end it fails for good, and nothing holds the alert: a notification must follow.
        judge(check.take({ kind: 'withdrawal' }));
        for (let minutes = 0; minutes < 70; minutes += 1) judge(check.run('failed'));
        expect(isTold).toBe(true);
        // Then it passes for good.
        for (let minutes = 0; minutes < 90; minutes += 1) judge(check.run('passed'));
        expect([isTold, check.state, isSteady(check.trend)]).toEqual([false, quietState, true]);
      }),
      { numRuns: 300 },
    );
  });
});
