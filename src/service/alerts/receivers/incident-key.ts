import type { AlertFacts } from '../facts.ts';
import type { Notice } from '../state.ts';

/** Subject of an alert: a check, its certificate, a gap, a location and so on. */
export function subjectOf({
  notice,
  facts,
}: {
  readonly notice: Notice;
  readonly facts: Pick<AlertFacts, 'subject'>;
}): string {
  return facts.subject ?? (notice === 'ssl' ? 'certificate' : 'check');
}

type About = {
  readonly notice: Notice;
  readonly facts: Pick<AlertFacts, 'subject' | 'runLocation' | 'certificate'>;
};

/** Same, but also for the end of a certificate alert, which is a recovery. */
export function incidentSubjectOf({ notice, facts }: About): string {
  return facts.subject === undefined && facts.certificate ? 'certificate' : subjectOf({ notice, facts });
}

/** Key under which receivers that keep an incident open until its recovery file all news of one subject. */
export function incidentKeyOf(about: About, filedUnder: string): string {
  // A check can have a gap at each of its locations.
  const place = about.facts.subject === 'gap' ? `-${about.facts.runLocation ?? 'service'}` : '';
  return `picket-${incidentSubjectOf(about)}${place}-${filedUnder}`;
}
