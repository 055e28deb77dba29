import { afterAll, beforeAll, expect, it } from 'vitest';
import { detailsOfOlderAgent } from '../../../src/checks/judging/older-agents.ts';
import { analyse } from '../../../src/service/analyses/analyse.ts';
import type { Evidence, StoredRun } from '../../../src/service/analyses/evidence.ts';
import { endFaults, startFaults } from '../../helpers/analyses/fault-stage.ts';
import { judged } from '../../helpers/analyses/real-runs.ts';
import { answerFaults } from './answer-faults.ts';
import { databaseFaults } from './database-faults.ts';
import { loginFaults } from './login-faults.ts';
import { networkFaults } from './network-faults.ts';

beforeAll(startFaults);
afterAll(endFaults);

/** The same evidence, with the facts of failures as the service parses them from messages. */
function asOfOlderAgent(evidence: Evidence): Evidence {
  const older = (run: StoredRun): StoredRun => ({
    ...run,
    details: run.code === null ? {} : detailsOfOlderAgent(run.code, run.message ?? ''),
  });
  return { ...evidence, failing: evidence.failing.map(older), passed: evidence.passed.map(older) };
}

const faults = [...networkFaults, ...answerFaults];

it('identifies at least 24 of 30 faults, and is never wrong with certainty', {
  timeout: 240_000,
}, async () => {
  expect(faults.length).toBeGreaterThanOrEqual(30);
  const wrong: string[] = [];
  for (const fault of faults) {
    const { isFault, isRight, isCertainlyWrong, analysis, evidence } = await judged(fault);
    expect(isFault, `${fault.name} was made: ${JSON.stringify(analysis)}`).toBe(true);
    expect(isCertainlyWrong, `${fault.name}: ${analysis.rootCause}`).toBe(false);
    if (!isRight) wrong.push(`${fault.name}: ${analysis.classification} ${analysis.rootCause}`);
    expect(analyse(asOfOlderAgent(evidence)), `${fault.name}, reported by an older agent`).toEqual(analysis);
  }
  expect(wrong).toEqual([]);
});

it.each([...loginFaults, ...databaseFaults].map((fault) => [fault.name, fault] as const))(
  'identifies %s',
  async (_name, fault) => {
    const { isFault, isRight, analysis } = await judged(fault);
    expect(isFault).toBe(true);
    expect(isRight, analysis.rootCause).toBe(true);
  },
);
