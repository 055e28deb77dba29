import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { code, comparedText, fact } from '../summary/parts.ts';
import { certificateSections, probeParts } from '../summary/probe-parts.ts';
import type { SqlDetail } from './detail.ts';
import { codesOf } from './refusal-codes.ts';

/** Summarizes an SQL monitor's result for people. */
export function summaryOf(detail: SqlDetail): DetailSummary {
  const { request, response } = detail;
  const asked: SummarySection = {
    title: 'Query',
    facts: [
      fact('Server', code(`${request.hostname}:${request.port}`)),
      fact('Database', request.database === '' ? null : code(request.database)),
      fact('User', code(request.username)),
      fact('Transaction', request.readOnly ? 'read only' : 'read and write'),
      fact('Address', response?.ipAddress ?? null),
      fact('Version', response?.serverVersion ?? null),
    ],
    texts: comparedText('Statement', request.query),
  };
  if (!response) return { ...probeParts(detail), sections: [asked] };
  const { dns, connection, tls, login, query } = response.timingPhases;
  return {
    ...probeParts(detail),
    phases: [
      { name: 'DNS lookup', kind: 'dns', lengthMs: dns },
      { name: 'TCP connection', kind: 'tcp', lengthMs: connection },
      { name: 'TLS handshake', kind: 'tls', lengthMs: tls },
      { name: 'Login', kind: 'wait', lengthMs: login },
      { name: 'Query', kind: 'first-byte', lengthMs: query },
    ],
    sections: [answerSection(response), asked, ...certificateSections(response.certificate)],
  };
}

function answerSection({ answer, refusal }: NonNullable<SqlDetail['response']>): SummarySection {
  return {
    title: 'Answer',
    facts: [
      fact('Value', answer && (answer.value === null ? 'NULL, or no row' : code(String(answer.value)))),
      fact('Rows', answer?.rowCount ?? null, answer?.truncated ? 'the rest was not read' : null),
      fact('Columns', answer?.columns.join(', ') || null),
      fact('Refused', refusal && `${refusal.step}: ${refusal.message}`, refusal && codesOf(refusal)),
    ],
  };
}
