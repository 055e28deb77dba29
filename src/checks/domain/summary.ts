import { expiryText } from '@picket/lib/figures/days-left.ts';
import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { code, fact, instant, volatileFact } from '../summary/parts.ts';
import { probeParts } from '../summary/probe-parts.ts';
import type { DomainDetail } from './detail.ts';

/** Summarizes a domain monitor's result for people. */
export function summaryOf(detail: DomainDetail): DetailSummary {
  const { request, response, degradedReasons } = detail;
  const asked: SummarySection = {
    title: 'Request',
    facts: [
      fact('Domain', code(request.domain)),
      fact('URL', code(request.url)),
      fact('Status', response?.status ?? null),
      fact('Expiry date from', response?.source ?? null),
      volatileFact('Answer of', instant(response?.answeredAt ?? null), 'the server gave none this time'),
    ],
  };
  const registration = response?.registration;
  if (!registration) return { ...probeParts(detail), sections: [asked] };
  const { daysUntilExpiry: days } = response;
  const { expiresAt, registeredAt, changedAt, registrar, statuses, nameServers, isSigned } = registration;
  return {
    ...probeParts(detail),
    sections: [
      {
        title: 'Registration',
        facts: [
          fact('Expires', instant(expiresAt)),
          volatileFact('Registration', days === null ? null : expiryText(days)),
          fact('Registrar', registrar),
          fact('Registered', instant(registeredAt)),
          fact('Last changed', instant(changedAt)),
          fact('Statuses', statuses.join(', ') || null),
          fact('Name servers', nameServers.join(', ') || null),
          fact('DNSSEC', isSigned === null ? null : isSigned ? 'signed' : 'not signed'),
          ...degradedReasons.map((reason) => fact('Degraded', reason, 'degraded')),
        ],
      },
      asked,
    ],
  };
}
