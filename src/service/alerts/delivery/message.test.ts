import { describe, expect, it } from 'vitest';
import type { CauseKind } from '../causes/failing-check.ts';
import { type AlertFacts, unknownFacts } from '../facts.ts';
import { channelMessage } from './message.ts';

const message = 'timed out after 5000 ms while connecting (shop.test:443)';
const analysis: NonNullable<AlertFacts['analysis']> = {
  classification: 'CONFIGURATION_ERROR',
  kind: 'a setting of the target, or an expectation of the check',
  whatFailed: 'the target, or the network path to it',
  failing: 'path',
  certainty: 'LIKELY',
  rootCause: 'Likely: The target fails since the check was changed.',
  ...{ userImpact: 'None.', codeFix: 'Look.', evidence: [], referenceLinks: null },
  fromModel: {
    ...{ provider: 'openai', model: 'm', askedAt: '2026-11-23T09:10:11.000Z', durationMs: 1 },
    causes: [
      { cause: 'Overload.', classification: 'PERFORMANCE_ERROR', kind: null, next: 'Look.', statements: [] },
    ],
    ...{ droppedCount: 0, problem: null },
    usage: { calls: 1, inputTokens: 1, outputTokens: 1, isEstimated: false, cost: null },
  },
};

/** The message of a failure whose cause several checks share, or of one without a shared cause. */
function given(kind: CauseKind | null, more: Partial<NonNullable<AlertFacts['analysis']>> = {}) {
  const cause = kind && {
    ...{ id: 'c', kind, evidence: 'lab', reason: 'Three checks fail with three targets: its network' },
    ...{ memberCount: 3, recoveredCount: 0, firstNames: [] },
  };
  return channelMessage({
    ...{ id: 'n', alertId: 'a', type: 'ALERT_FAILURE', notice: 'failure', checkId: 'x', accountId: 'a' },
    ...{ resultId: 'r', created: 0, resultLink: 'http://picket.test/r', pageLink: null },
    facts: {
      ...unknownFacts,
      ...{ error: message, owner: 'target', code: 'CONNECTION_TIMEOUT', analysis: { ...analysis, ...more } },
      cause: cause ?? undefined,
    },
  });
}

describe('the message of an alert', () => {
  it('names the owner of the setting in a configuration error', () => {
    expect(given(null).variables).toMatchObject({
      FAULT_OF: 'the target, or the network path to it',
      AI_ANALYSIS_CLASSIFICATION: 'CONFIGURATION_ERROR',
      AI_ANALYSIS_KIND: 'a setting of the target, or an expectation of the check',
    });
  });

  it('has no root cause of one check if checks fail together for another reason than their target', () => {
    for (const kind of ['location', 'resolver', 'hop', 'egress'] as const) {
      const { variables, facts } = given(kind);
      expect([kind, ...facts.map(({ label }) => label)]).not.toContain('Likely cause');
      const said = Object.entries(variables).filter(
        ([name, value]) => name.startsWith('AI_ANALYSIS_') && value !== null && String(value) !== '',
      );
      expect([kind, said]).toEqual([kind, []]);
    }
    expect(given('host').variables).toMatchObject({ AI_ANALYSIS_ROOT_CAUSE: analysis.rootCause });
  });

  it("contains a model's possible causes only if the rules find none", () => {
    expect(given(null).variables).toMatchObject({ AI_ANALYSIS_MODEL_CAUSES: [] });
    expect(given(null, { certainty: 'OPEN' }).variables).toMatchObject({
      AI_ANALYSIS_MODEL_CAUSES: ['Overload.'],
    });
  });
});
