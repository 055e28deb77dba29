import { failure } from '../../checks/contract/failure.ts';
import type { FinishedRun } from '../runners/worker-protocol.ts';
import type { Envelope, Scrubber } from '../scrub/scrubber.ts';
import type { Sickness } from './location-watch.ts';

/**
 * The report of a run whose failure is explained by the sickness of the location: it says nothing against the target, and
 * tells what the agent found in both.
 */
export function sickReport(run: FinishedRun, { kind, evidence }: Sickness, scrubber: Scrubber): FinishedRun {
  const envelope = JSON.parse(run.envelopeJson) as Envelope;
  const { failure: found, errorMessages } = envelope;
  const message = `The ${kind} of this location was sick (${evidence}), which may be all there is to it: ${found?.message ?? ''}`;
  return {
    ...run,
    envelopeJson: scrubber.envelope({
      ...envelope,
      failure: failure('LOCATION_SICK', message),
      errorMessages: [message, ...errorMessages].slice(0, maxErrorMessages),
      isDegraded: null,
      overMaxResponseTime: null,
    }),
    facts: { ...run.facts, verdict: 'error', failureCode: 'LOCATION_SICK' },
  };
}

const maxErrorMessages = 200;
