import { afterAll, beforeAll, expect, it } from 'vitest';
import { endFaults, startFaults } from '../../helpers/analyses/fault-stage.ts';
import { judged } from '../../helpers/analyses/real-runs.ts';
import { answerFaults } from './answer-faults.ts';
import { networkFaults } from './network-faults.ts';

beforeAll(startFaults);
afterAll(endFaults);

const faults = [...networkFaults, ...answerFaults];

it('names at least 24 of 30 faults rightly, and none wrongly with certainty', {
  timeout: 240_000,
}, async () => {
  expect(faults.length).toBeGreaterThanOrEqual(30);
  const wrong: string[] = [];
  for (const fault of faults) {
    const { isFault, isRight, isCertainlyWrong, analysis } = await judged(fault);
    expect(isFault, `${fault.name} was made: ${JSON.stringify(analysis)}`).toBe(true);
    expect(isCertainlyWrong, `${fault.name}: ${analysis.rootCause}`).toBe(false);
    if (!isRight) wrong.push(`${fault.name}: ${analysis.classification} ${analysis.rootCause}`);
  }
  expect(wrong).toEqual([]);
});
