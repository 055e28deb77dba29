import { failure } from '@picket/checks/contract/failure.ts';
import type { FinishedRun } from '../run/contracts.ts';
import { textOf } from '../scrub/report-texts.ts';
import type { Envelope, Scrubber } from '../scrub/scrubber.ts';
import type { UnhealthyPart } from './location-watch.ts';

/**
 * The report of a run whose failure an unhealthy location explains: it does not blame the target, and has the agent's
 * findings on both.
 */
export function unhealthyReport(
  run: FinishedRun,
  { kind, evidence }: UnhealthyPart,
  scrubber: Scrubber,
): FinishedRun {
  const envelope = JSON.parse(textOf(run.report.envelopeJson)) as Envelope;
  const { failure: found, errorMessages } = envelope;
  const message = `The ${kind} of this location was unhealthy (${evidence}), which may explain this failure: ${found?.message ?? ''}`;
  return {
    ...run,
    report: {
      ...run.report,
      envelopeJson: scrubber.envelope({
        ...envelope,
        failure: failure('LOCATION_SICK', message),
        errorMessages: [message, ...errorMessages].slice(0, maxErrorMessages),
        isDegraded: null,
        overMaxResponseTime: null,
      }),
    },
    facts: { ...run.facts, verdict: 'error', failureCode: 'LOCATION_SICK' },
  };
}

const maxErrorMessages = 200;
