import type { AlertMessage } from './template.ts';

/** What people want to know of an alert, line by line. */
export function factLines({ facts, created }: AlertMessage): { label: string; value: string }[] {
  const { certificate } = facts;
  const status = [facts.statusCode, facts.statusText].filter((part) => part !== null).join(' ');
  const lines: [label: string, value: string | null][] = [
    ['Error', facts.error],
    ['Response', status === '' ? null : status],
    ['Response time', facts.responseTimeMs === null ? null : `${Math.round(facts.responseTimeMs)} ms`],
    ['Location', facts.runLocation],
    ['Certificate expires', certificate ? new Date(certificate.expiresAt).toISOString() : null],
    ['Check type', facts.subject === undefined ? facts.checkType : null],
    ['Group', facts.groupName],
    ['Tags', facts.tags.length === 0 ? null : facts.tags.join(', ')],
    ['Time', new Date(facts.startedAt ?? created).toISOString()],
  ];
  return lines.flatMap(([label, value]) => (value === null || value === '' ? [] : [{ label, value }]));
}
