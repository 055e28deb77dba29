import type { ChannelMessage } from '@picket/channels/contract/message.ts';
import { cut, oneLine } from '@picket/channels/contract/text.ts';
import { counted } from '@picket/lib/figures/count.ts';
import { expiryText } from '@picket/lib/figures/days-left.ts';
import { causeSubject } from '../causes/summary.ts';
import { type AlertFacts, isOfCheck } from '../facts.ts';
import type { Notice } from '../state.ts';

/** The parts of an alert that its headline is made of. */
interface Content {
  readonly notice: Notice;
  readonly facts: AlertFacts;
}
type State = ChannelMessage['state'];

const maxNameLength = 80;

/** State of the subject in one or two words, with its colour. */
export function stateOf({ notice, facts }: Content): State {
  const { subject, reminder, isFlapping, cause, endedBy } = facts;
  if (endedBy) return { word: 'Over', tone: 'neutral' };
  const isOver = notice === 'recovery';
  if (subject !== undefined) return (isOver ? endsOfSubjects : subjects)[subject];
  if (cause?.update?.kind === 'recovered') return { word: 'Recovered in part', tone: 'failed' };
  if (cause?.update) return { word: 'Failing', tone: 'failed' };
  if (isFlapping && !isOver) return { word: 'Flapping', tone: notice === 'degraded' ? 'degraded' : 'failed' };
  switch (notice) {
    case 'recovery':
      return { word: 'Recovered', tone: 'passed' };
    case 'degraded':
      return { word: reminder > 0 ? 'Still degraded' : 'Degraded', tone: 'degraded' };
    case 'ssl':
      return { word: expiryWord(facts), tone: 'degraded' };
    case 'gap':
      return subjects.gap;
    case 'failure':
      return { word: reminder > 0 ? 'Still failing' : 'Failing', tone: 'failed' };
  }
}

function expiryWord({ certificate }: AlertFacts): string {
  const text = expiryText(certificate?.daysRemaining ?? 0);
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

type Subject = NonNullable<AlertFacts['subject']>;

const subjects: Readonly<Record<Subject, State>> = {
  location: { word: 'No agent', tone: 'failed' },
  sickness: { word: 'Unhealthy', tone: 'failed' },
  outdated: { word: 'Outdated agents', tone: 'degraded' },
  gap: { word: 'Not measured', tone: 'missed' },
  slo: { word: 'Error budget burns', tone: 'degraded' },
  test: { word: 'Test', tone: 'neutral' },
};

const endsOfSubjects: Readonly<Record<Subject, State>> = {
  location: { word: 'Agent is back', tone: 'passed' },
  sickness: { word: 'Healthy again', tone: 'passed' },
  outdated: { word: 'Agents are current', tone: 'passed' },
  gap: { word: 'Measured again', tone: 'passed' },
  slo: { word: 'Error budget no longer burns', tone: 'passed' },
  test: { word: 'Test is over', tone: 'neutral' },
};

/** State, name and location in one short line: `Failing: Shop · fra1`. */
export function subjectLineOf(message: Content, locations: readonly string[]): string {
  const { facts } = message;
  const { word } = stateOf(message);
  const name = cut(oneLine(nameOf(message)), maxNameLength);
  const where =
    !isOfCheck(facts) || locations.length === 0
      ? ''
      : ` · ${locations.length > 2 ? `${locations.length} locations` : locations.map(oneLine).join(', ')}`;
  const reminder = facts.reminder > 0 ? ` (reminder ${facts.reminder})` : '';
  return `${word}: ${name}${where}${reminder}`;
}

function nameOf({ notice, facts }: Content): string {
  const { subject, checkName, cause, certificate, members, isFlapping, endedBy } = facts;
  const count = members?.count ?? 1;
  if (subject === 'test') return 'Picket sends its alerts here';
  if (subject === 'gap' && count > 1) return `${count} checks`;
  if (notice === 'ssl') {
    const others = count > 1 ? ` and ${counted(count - 1, 'other check')}` : '';
    return `certificate of ${certificate?.domain ?? checkName}${others}`;
  }
  if (!cause || isFlapping || endedBy || notice === 'degraded') return checkName;
  const { update, memberCount, recoveredCount } = cause;
  const what =
    update?.kind === 'joined'
      ? `${update.count} more ${update.count === 1 ? 'check' : 'checks'}`
      : update || (notice === 'recovery' && recoveredCount < memberCount)
        ? `${update?.count ?? recoveredCount} of ${memberCount} checks`
        : `${memberCount} checks`;
  return `${cut(causeSubject(cause), maxNameLength - 20)}, ${what}`;
}

interface Links {
  readonly resultLink: string | null;
  readonly checkLink?: string | null;
  readonly pageLink: string | null;
}

/** Next steps for a reader, two at most: the first shows the evidence. */
export function actionsOf(message: Content & Links): ChannelMessage['actions'] {
  const { notice, facts, resultLink, checkLink = null, pageLink } = message;
  const isOpen = notice === 'failure' || notice === 'degraded';
  const check = checkLink === null ? [] : [{ label: 'Open the check', url: checkLink }];
  // Without pages, the link of a result leads to the API, which needs a key.
  const run = checkLink === null || resultLink === null ? [] : [{ label: 'Open the run', url: resultLink }];
  const label = isOpen && facts.subject === undefined && !facts.endedBy ? 'Acknowledge' : 'Open the alert';
  const page = pageLink === null ? [] : [{ label, url: pageLink }];
  return (label === 'Acknowledge' ? [...run, ...page, ...check] : [...run, ...check, ...page]).slice(0, 2);
}
