import type { AlertFacts } from '../facts.ts';
import type { Notice } from '../state.ts';

/** What an alert is about: a check, its certificate, a gap, a location and the like. */
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

/** The same, and for the end of what is about a certificate, too: that is a recovery. */
export function incidentSubjectOf({ notice, facts }: About): string {
  return facts.subject === undefined && facts.certificate ? 'certificate' : subjectOf({ notice, facts });
}

/** What all news of one thing is filed under by receivers that keep an incident open until its recovery. */
export function incidentKeyOf(about: About, filedUnder: string): string {
  // A check can have a gap at each of its locations.
  const place = about.facts.subject === 'gap' ? `-${about.facts.runLocation ?? 'service'}` : '';
  return `picket-${incidentSubjectOf(about)}${place}-${filedUnder}`;
}
