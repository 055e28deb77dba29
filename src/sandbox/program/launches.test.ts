import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { ReportedError } from '../scripts/events.ts';

const require = createRequire(import.meta.url);
const { describe: describeError } = require('./events.cjs') as { describe(error: unknown): object };
const { Launches, hangingError } = require('./launches.cjs') as {
  Launches: new () => {
    stepBegan(test: object, step: object): void;
    stepEnded(test: object, step: object): void;
    errorsOf(test: object, result: object): { readonly message: string }[];
    hangingAtEnd(durationMs: number): Error | undefined;
  };
  hangingError(launchMs: number, wholeMs: number): Error | undefined;
};

const test = { id: 't' };
const launch = () => ({
  category: 'pw:api',
  title: 'browserType.launch',
  startTime: new Date(Date.now() - 2000),
});
const late = { message: 'Test timeout of 2000ms exceeded.' };
const other = { message: 'expect(received).toBe(expected)' };

it('reports in a field that a browser was still starting when the time of a test was over', () => {
  const launches = new Launches();
  launches.stepBegan(test, launch());
  const [first, second] = launches.errorsOf(test, { duration: 2000, errors: [late, other] });
  const said = ReportedError.parse(describeError(first));
  expect(said.launchMs).toBeGreaterThanOrEqual(2000);
  expect(said.message).toBe(
    `Test timeout of 2000ms exceeded: the browser had not started after ${said.launchMs} ms`,
  );
  expect(ReportedError.parse(describeError(second)).launchMs).toBeUndefined();
});

it('reports nothing about a browser that had started', () => {
  const launches = new Launches();
  launches.stepBegan(test, launch());
  launches.stepEnded(test, launch());
  expect(launches.errorsOf(test, { duration: 2000, errors: [late] })).toEqual([late]);
  expect(launches.hangingAtEnd(2000)).toBeUndefined();
});

it('reports the same for a run that ended, and for a plain script', () => {
  const launches = new Launches();
  launches.stepBegan(test, launch());
  expect(ReportedError.parse(describeError(launches.hangingAtEnd(2000))).launchMs).toBeGreaterThanOrEqual(
    2000,
  );
  expect(ReportedError.parse(describeError(hangingError(1999.6, 2500)))).toMatchObject({ launchMs: 2000 });
  expect(hangingError(100, 60_000)).toBeUndefined();
});

it('ignores values of a script that are not numbers', () => {
  const thrown = Object.assign(new Error('a'), { launchMs: Number.NaN });
  expect(ReportedError.parse(describeError(thrown)).launchMs).toBeUndefined();
});
