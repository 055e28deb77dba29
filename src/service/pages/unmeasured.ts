import type { StatusPageData } from '../../protocol/pages/public-page.ts';

type Service = StatusPageData['cards'][number]['services'][number];

/** Whether checks measure a service, but have not of late: on the newest day on which something was due. */
export function isUnmeasured({ days, coverage }: Pick<Service, 'days' | 'coverage'>): boolean {
  if (coverage === null) return false;
  const due = days.slice(-2).findLast((day) => day.coverage && day.coverage.due > day.coverage.open);
  return due === undefined || due.measurement === 'NONE';
}
