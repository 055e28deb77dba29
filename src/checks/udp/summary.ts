import { durationText } from '../../lib/figures/duration.ts';
import type { DetailSummary, SummaryFact, SummarySection } from '../summary/detail-summary.ts';
import type { UdpDetail } from './detail.ts';

/** What people read of a UDP monitor's result. */
export function summaryOf({ request, steps, response }: UdpDetail): DetailSummary {
  const asked: SummarySection = {
    title: 'Request',
    facts: [
      fact('Target', `${request.hostname}:${request.port}`),
      ...(steps
        ? []
        : [fact(request.dataFormat === 'HEX' ? 'Data (hexadecimal)' : 'Data', request.data || 'none')]),
    ],
  };
  if (!response) return { phases: [], sections: [asked] };
  const { dns, wait } = response.timingPhases;
  const begunCount = steps?.filter(({ state }) => state !== 'NOT_REACHED').length ?? 1;
  const isRepeated = response.sentCount > begunCount;
  return {
    phases: [
      { name: 'Name (DNS)', kind: 'dns', lengthMs: dns },
      { name: 'Wait', kind: 'wait', lengthMs: wait },
    ],
    sections: [
      asked,
      ...(steps ? [stepsSection(steps)] : []),
      {
        title: 'Answer',
        facts: [
          fact('Address', response.ipAddress),
          fact('Sent', response.sentCount, isRepeated ? 'what was sent first got no answer' : null),
          fact('Bytes', response.sizeBytes),
          fact('Data', response.data ?? null),
        ],
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
          : `${answer ?? 'no answer'} (${durationText(waitMs)}, sent ${sentCount === 1 ? 'once' : `${sentCount} times`})`;
      return fact(`Step ${index + 1}`, words, state === 'FAILED' ? 'this step failed' : null);
    }),
  };
}

function fact(name: string, value: string | number | null, problem: string | null = null): SummaryFact {
  return { name, value, problem };
}
