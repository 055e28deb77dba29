import { durationText } from '@picket/lib/figures/duration.ts';
import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { code, comparedText, fact } from '../summary/parts.ts';
import { probeParts } from '../summary/probe-parts.ts';
import type { UdpDetail } from './detail.ts';

/** Summarizes a UDP monitor's result for people. */
export function summaryOf(detail: UdpDetail): DetailSummary {
  const { request, steps, response } = detail;
  const data = request.dataFormat === 'HEX' ? 'Data (hexadecimal)' : 'Data';
  const sent: SummarySection = {
    title: 'Request',
    facts: [fact('Target', code(`${request.hostname}:${request.port}`))],
    texts: steps ? [] : comparedText(`${data} sent`, request.data),
  };
  if (!response) return { ...probeParts(detail), sections: [sent] };
  const { dns, wait } = response.timingPhases;
  const begunCount = steps?.filter(({ state }) => state !== 'NOT_REACHED').length ?? 1;
  const isRepeated = response.sentCount > begunCount;
  return {
    ...probeParts(detail),
    phases: [
      { name: 'DNS lookup', kind: 'dns', lengthMs: dns },
      { name: 'Waiting for response', kind: 'wait', lengthMs: wait },
    ],
    sections: [
      sent,
      ...(steps ? [stepsSection(steps)] : []),
      {
        title: 'Response',
        facts: [
          fact('Address', response.ipAddress),
          fact('Sent', response.sentCount, isRepeated ? 'the first datagrams got no response' : null),
          fact('Bytes', response.sizeBytes),
        ],
        texts: comparedText(`${data} received`, response.data),
      },
    ],
  };
}

function stepsSection(steps: NonNullable<UdpDetail['steps']>): SummarySection {
  return {
    title: 'Steps',
    facts: steps.map(({ state, sentCount, waitMs, answer }, index) => {
      const words =
        state === 'NOT_REACHED'
          ? 'not reached'
          : `${answer ?? 'no response'} (${durationText(waitMs)}, sent ${sentCount === 1 ? 'once' : `${sentCount} times`})`;
      return fact(`Step ${index + 1}`, words, state === 'FAILED' ? 'this step failed' : null);
    }),
  };
}
