import { durationText } from '@picket/lib/figures/duration.ts';
import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { code, fact, instant, took, volatileFact } from '../summary/parts.ts';
import { probeParts } from '../summary/probe-parts.ts';
import type { NtpDetail, NtpTime } from './detail.ts';

/** Summarizes an NTP monitor's result for people. */
export function summaryOf(detail: NtpDetail): DetailSummary {
  const { request, response, degradedReasons } = detail;
  const asked: SummarySection = {
    title: 'Request',
    facts: [
      fact('Server', code(`${request.hostname}:${request.port}`)),
      fact('Address', response?.ipAddress ?? null),
      fact('Requests', response?.sentCount ?? null, repeated(response?.sentCount)),
      fact('Ignored datagrams', response?.ignoredCount || null, 'they answer no request of this run'),
    ],
  };
  if (!response) return { ...probeParts(detail), sections: [asked] };
  const { dns, wait } = response.timingPhases;
  return {
    ...probeParts(detail),
    phases: [
      { name: 'DNS lookup', kind: 'dns', lengthMs: dns },
      { name: 'Waiting for response', kind: 'wait', lengthMs: wait },
    ],
    sections: response.time ? [clockSection(response.time, degradedReasons), asked] : [asked],
  };
}

const repeated = (sentCount = 0) => (sentCount > 1 ? 'the first ones got no response' : null);

function clockSection(time: NtpTime, degradedReasons: readonly string[]): SummarySection {
  const { offsetMs, leap, stratum, kissCode } = time;
  return {
    title: 'Clock of the server',
    facts: [
      volatileFact('Offset', offsetMs === null ? null : offsetText(offsetMs)),
      volatileFact('Maximum error', took(time.errorBoundMs)),
      volatileFact('Round trip', took(time.roundTripMs)),
      fact('Stratum', stratum),
      fact('Leap second', leap),
      fact('Kiss code', code(kissCode)),
      fact('Reference', code(time.referenceId)),
      volatileFact('Last set', instant(time.referenceTime)),
      volatileFact('Root delay', took(time.rootDelayMs)),
      volatileFact('Root dispersion', took(time.rootDispersionMs)),
      fact('Version', time.version),
      ...degradedReasons.map((reason) => fact('Degraded', reason, 'degraded')),
    ],
  };
}

function offsetText(offsetMs: number): string {
  const side = offsetMs < 0 ? 'behind' : 'ahead of';
  return `${durationText(Math.abs(offsetMs))} ${side} the agent`;
}
