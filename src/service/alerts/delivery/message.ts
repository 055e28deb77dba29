import type { ChannelMessage } from '@picket/channels/contract/message.ts';
import { cut, type Fact, oneLine, plainText } from '@picket/channels/contract/text.ts';
import { failureWords } from '@picket/checks/judging/failure-words.ts';
import { counted } from '@picket/lib/figures/count.ts';
import { expiryText } from '@picket/lib/figures/days-left.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import { utcText } from '@picket/lib/figures/time.ts';
import type { ModelCause } from '@picket/protocol/results/root-cause-analysis.ts';
import { type CauseSummary, causeTitle, memberText } from '../causes/summary.ts';
import { type AlertFacts, isOfCheck } from '../facts.ts';
import { endText, endTitle } from '../receivers/end-reason.ts';
import { incidentKeyOf, incidentSubjectOf } from '../receivers/incident-key.ts';
import type { AlertType, Notice, Suppression } from '../state.ts';
import { actionsOf, stateOf, subjectLineOf } from './headline.ts';

/** An alert to be sent to a channel. */
export interface AlertMessage {
  /** Same for every attempt, so that receivers can detect duplicates. */
  readonly id: string;
  readonly alertId: string;
  readonly type: AlertType;
  readonly notice: Notice;
  readonly checkId: string;
  /** Check that all messages of one cause to one channel are filed under; absent: this one. */
  readonly filedUnder?: string;
  readonly resultId: string | null;
  readonly accountId: string;
  readonly facts: AlertFacts;
  /** When the alert was created, in epoch milliseconds. */
  readonly created: number;
  /** URL of the result in the API; null if absent. */
  readonly resultLink: string | null;
  /** URL where users read the alert in a browser, without a key; null if the service's public URL is unknown. */
  readonly pageLink: string | null;
  /** URL of the page of the check; null or absent without pages, or if the alert is not about a check. */
  readonly checkLink?: string | null;
  /** When the check that it is filed under began to fail; absent: when the subject of this alert began. */
  readonly threadSince?: number;
}

/** The content of an alert for channels. */
export function channelMessage(message: AlertMessage): ChannelMessage {
  const { id, facts } = message;
  return {
    id,
    title: oneLine(titleOf(message)),
    subjectLine: subjectLineOf(message, locationsOf(facts)),
    state: stateOf(message),
    thread: threadOf(message),
    actions: actionsOf(message),
    cause: causeOf(message),
    owner: ownerOf(message),
    since: sinceOf(message),
    locations: locationsOf(facts),
    error: facts.error === null ? null : plainText(facts.error),
    severity: severityOf(message),
    isOver: isOver(message),
    subject: incidentSubjectOf(message),
    subjectId: message.checkId,
    incidentKey: incidentKeyOf(message, message.filedUnder ?? message.checkId),
    tags: facts.tags,
    facts: factLines(message),
    link: message.pageLink,
    createdAt: message.created,
    variables: variablesOf(message),
  };
}

/** The same for all messages about one episode to one channel: a failure, its reminders and its recovery. */
function threadOf(message: AlertMessage): string {
  const key = incidentKeyOf(message, message.filedUnder ?? message.checkId);
  return `${key.replaceAll(/[^\w.-]+/g, '-').slice(0, 150)}-${message.threadSince ?? sinceOf(message)}`;
}

/** Whether it ends what an earlier message began: not the recovery of a check whose cause still has failing members. */
function isOver({ notice, facts }: Pick<AlertMessage, 'notice' | 'facts'>): boolean {
  return notice === 'recovery' && facts.cause?.update === undefined;
}

function severityOf({ notice, facts }: AlertMessage): ChannelMessage['severity'] {
  if (notice === 'failure' || facts.cause?.update) return 'critical';
  return notice === 'recovery' ? 'info' : 'warning';
}

const maxCauseLength = 300;

/** The reason, in one line. */
export function causeOf({ notice, facts }: Pick<AlertMessage, 'notice' | 'facts'>): string {
  const { certificate, subject, responseTimeMs } = facts;
  if (facts.endedBy) return endText(facts.endedBy);
  if (facts.cause && (notice === 'failure' || facts.cause.update))
    return cut(oneLine(facts.cause.reason), maxCauseLength);
  if (notice === 'recovery') {
    if (subject === 'gap')
      return facts.runLocation === null ? 'The service is back.' : 'It is measured again.';
    if (subject === 'slo') return 'The error budget no longer burns too fast.';
    return subject === undefined ? 'The check passes again.' : 'It is over.';
  }
  if (plainText(facts.error ?? '').trim() !== '')
    return cut(oneLine(wordsOf(facts).sentence), maxCauseLength);
  if (certificate)
    return `The certificate of ${oneLine(certificate.domain)} ends on ${utcText(certificate.expiresAt, 'second')}.`;
  if (notice === 'degraded' && responseTimeMs !== null) {
    return `It responded slowly, after ${durationText(responseTimeMs)}.`;
  }
  return notice === 'degraded' ? 'It exceeds its degraded limit.' : 'The run gave no reason.';
}

function wordsOf({ owner = null, code = null, error }: AlertFacts) {
  return failureWords({ owner, code, message: error });
}

/** The part that failed, in words: as on the page of the run, or as shared by all checks of one cause. */
function ownerOf({ facts }: Pick<AlertMessage, 'facts'>): string {
  const { subject, owner, cause } = facts;
  if (subject === 'location' || subject === 'sickness') return 'the private location';
  if (subject === 'outdated') return 'the agents of the private location';
  if (subject === 'test') return 'none: this is a test';
  // A gap says nothing about the target.
  if (subject === 'gap')
    return owner === 'service' ? 'the service' : (gapOwners[owner ?? 'location'] ?? 'the location');
  return (cause && sharedOwners[cause.kind]) ?? wordsOf(facts).whatFailed;
}

const gapOwners: Readonly<Record<string, string>> = {
  agent: 'the agent',
  config: 'the definition of the check',
};
/** For several checks whose common cause is not their target. */
const sharedOwners: Partial<Record<CauseSummary['kind'], string>> = {
  location: failureWords({ owner: 'location', code: null, message: null }).whatFailed,
  resolver: failureWords({ owner: 'target', code: 'CONNECTION_TIMEOUT', message: null }).whatFailed,
  hop: failureWords({ owner: 'target', code: 'CONNECTION_TIMEOUT', message: null }).whatFailed,
  egress: failureWords({ owner: 'config', code: null, message: null }).whatFailed,
};

/** When it began, or when the recovery began. */
function sinceOf({ facts, created }: Pick<AlertMessage, 'facts' | 'created'>): number {
  return facts.since ?? facts.startedAt ?? created;
}

function locationsOf(facts: AlertFacts): readonly string[] {
  if (facts.locations && facts.locations.length > 0) return facts.locations;
  return facts.runLocation === null ? [] : [facts.runLocation];
}

const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** One-line title that says what happened. */
export function titleOf({ notice, facts }: Pick<AlertMessage, 'notice' | 'facts'>): string {
  const { checkName: name, reminder, recoversFrom, certificate, isFlapping, endedBy } = facts;
  if (endedBy) return endTitle(name, endedBy);
  if (facts.subject === 'location') {
    return `Private location ${name} has ${notice === 'recovery' ? 'an agent again' : 'no agent'}`;
  }
  if (facts.subject === 'sickness') {
    return `Private location ${name} ${notice === 'recovery' ? 'is healthy again' : 'is unhealthy'}`;
  }
  if (facts.subject === 'outdated') {
    return `Private location ${name} ${notice === 'recovery' ? 'no longer has outdated agents' : 'has outdated agents'}`;
  }
  if (facts.subject === 'test')
    return notice === 'recovery' ? 'The test is over' : 'Test notification of Picket';
  if (facts.subject === 'gap') return gapTitle(facts, notice === 'recovery');
  if (facts.subject === 'slo') {
    return notice === 'recovery'
      ? `The error budget of ${name} no longer burns`
      : `The error budget of ${name} burns`;
  }
  if (facts.cause && !isFlapping && (notice === 'failure' || notice === 'recovery')) {
    const title = causeTitle(facts.cause, notice === 'recovery');
    return reminder > 0 ? `${title} (reminder ${reminder})` : title;
  }
  switch (notice) {
    case 'gap':
    case 'failure':
      if (isFlapping) return `${name} is flapping: it fails and passes in turn`;
      return reminder > 0 ? `${name} is still failing (reminder ${reminder})` : `${name} has failed`;
    case 'degraded':
      if (isFlapping) return `${name} is flapping: it is degraded and passes in turn`;
      return reminder > 0 ? `${name} is still degraded (reminder ${reminder})` : `${name} is degraded`;
    case 'recovery':
      return recoversFrom === 'degraded' ? `${name} is no longer degraded` : `${name} has recovered`;
    case 'ssl': {
      const days = certificate?.daysRemaining ?? 0;
      const others = (facts.members?.count ?? 1) - 1;
      const rest = others > 0 ? ` and ${counted(others, 'other check')}` : '';
      return `The certificate of ${certificate?.domain ?? name}${rest} ${expiryText(days)}`;
    }
  }
}

/** Never says that a target is down, because that is unknown. */
function gapTitle({ checkName, runLocation, members }: AlertFacts, isOver: boolean): string {
  const count = members?.count ?? 1;
  if (runLocation === null) {
    const what = count === 1 ? checkName : `${count} checks`;
    return isOver
      ? `The monitoring gap of ${what} is over: the service is back`
      : `Monitoring gap: ${what} ${count === 1 ? 'was' : 'were'} not measured while the service was away`;
  }
  if (isOver)
    return `The monitoring gap of ${count === 1 ? checkName : `${count} checks`} at ${runLocation} is over`;
  return `Monitoring gap: ${count === 1 ? `${checkName} is` : `${count} checks are`} not measured at ${runLocation}`;
}

/** Variables available to webhook templates (check model 4.4). */
function variablesOf(message: AlertMessage): Record<string, unknown> {
  const { facts } = message;
  const analysis = shownAnalysis(facts);
  return {
    ALERT_TITLE: titleOf(message),
    ALERT_TYPE: message.type,
    ALERT_ID: message.alertId,
    ACCOUNT_ID: message.accountId,
    CHECK_NAME: facts.checkName,
    CHECK_ID: message.checkId,
    CHECK_TYPE: facts.checkType,
    CHECK_DESCRIPTION: facts.checkDescription,
    CHECK_ERROR_MESSAGE: facts.error,
    CAUSE: causeOf(message),
    FAULT_OF: ownerOf(message),
    SINCE: iso(sinceOf(message)),
    LOCATIONS: locationsOf(facts),
    CHECK_RESULT_ID: message.resultId,
    RESULT_LINK: message.resultLink,
    ALERT_LINK: message.pageLink,
    RESPONSE_TIME: facts.responseTimeMs,
    API_CHECK_RESPONSE_STATUS_CODE: facts.statusCode,
    API_CHECK_RESPONSE_STATUS_TEXT: facts.statusText,
    RUN_LOCATION: facts.runLocation,
    REGION: facts.runLocation,
    GROUP_NAME: facts.groupName,
    STARTED_AT: facts.startedAt === null ? null : new Date(facts.startedAt).toISOString(),
    SENT_AT: new Date(message.created).toISOString(),
    TAGS: facts.tags,
    IS_REMINDER: facts.reminder > 0,
    REMINDER_SEQUENCE: facts.reminder,
    SSL_DAYS_REMAINING: facts.certificate?.daysRemaining ?? null,
    SSL_CHECK_DOMAIN: facts.certificate?.domain ?? null,
    CAUSE_ID: facts.cause?.id ?? null,
    CAUSE_KIND: facts.cause?.kind ?? null,
    CAUSE_EVIDENCE: facts.cause?.evidence ?? null,
    CAUSE_REASON: facts.cause?.reason ?? null,
    CAUSE_MEMBER_COUNT: facts.cause?.memberCount ?? null,
    CAUSE_MEMBERS: facts.cause?.firstNames ?? [],
    CAUSE_UPDATE: facts.cause?.update?.kind ?? null,
    CAUSE_UPDATE_MEMBERS: facts.cause?.update?.names ?? [],
    // Names used by public templates, for analyses of any origin.
    AI_ANALYSIS_CLASSIFICATION: analysis?.classification ?? null,
    AI_ANALYSIS_KIND: analysis?.kind ?? null,
    AI_ANALYSIS_ROOT_CAUSE: analysis?.rootCause ?? null,
    AI_ANALYSIS_USER_IMPACT: analysis?.userImpact ?? null,
    AI_ANALYSIS_CODE_FIX: analysis?.codeFix ?? null,
    AI_ANALYSIS_EVIDENCE: analysis?.evidence.map(({ description }) => description).join('\n') ?? null,
    AI_ANALYSIS_MODEL_CAUSES: modelCauses(analysis).map(({ cause }) => cause),
    AI_ANALYSIS_LINK: analysis ? message.resultLink : null,
  };
}

/** Facts about an alert for readers, line by line. */
export function factLines(
  message: Pick<AlertMessage, 'notice' | 'facts' | 'created' | 'resultLink'>,
): Fact[] {
  const { notice, facts, created } = message;
  const { certificate } = facts;
  const status = [facts.statusCode, facts.statusText].filter((part) => part !== null).join(' ');
  const cause = causeOf(message);
  const isEnd = notice === 'recovery';
  const since = sinceOf(message);
  const at = facts.startedAt ?? created;
  const error = plainText(facts.error ?? '').trim();
  const lines: [label: string, value: string | null][] = [
    ['Cause', cause],
    ...foundCause(facts),
    ['Checks', facts.cause ? memberText(facts.cause) : null],
    ['Check', facts.cause ? facts.checkName : null],
    ['Failed part', isEnd ? null : ownerOf(message)],
    ['Since', isEnd ? null : utcText(since, 'second')],
    ['Sent late', facts.heldBy && !isEnd ? lateTexts[facts.heldBy] : null],
    ['Where', locationsOf(facts).join(', ')],
    ['Checks', (facts.members?.count ?? 1) === 1 ? null : membersLine(facts)],
    ['Target', facts.target ?? null],
    // The cause is the first line of a message.
    [facts.subject === 'gap' ? 'Gap' : 'Error', error === cause ? null : error],
    ['Response', status === '' ? null : status],
    ['Response time', facts.responseTimeMs === null ? null : durationText(facts.responseTimeMs)],
    ['Certificate expires', certificate ? utcText(certificate.expiresAt, 'second') : null],
    ['Check type', isOfCheck(facts) ? facts.checkType : null],
    ['Group', facts.groupName],
    ['Tags', facts.tags.length === 0 ? null : facts.tags.join(', ')],
    ['Time', utcText(at, 'second')],
    [
      isEnd ? 'Lasted' : 'Duration',
      facts.since === undefined || facts.since === null ? null : durationText(at - since),
    ],
    ['Run', message.resultLink],
  ];
  return lines.flatMap(([label, value]) => {
    const text = plainText(value ?? '').trim();
    return text === '' ? [] : [{ label, value: text }];
  });
}

/** Why news of something that began earlier is sent now. */
const lateTexts: Readonly<Record<Suppression, string>> = {
  muted: 'because alerts of the check are no longer muted',
  maintenance: 'because the maintenance window ended',
  silenced: 'because the silence ended',
  acknowledged: 'because the acknowledgement ended',
};

const analysisLabels = { CERTAIN: 'Root cause', LIKELY: 'Likely cause', OPEN: null } as const;

/**
 * Analysis of the cause. If checks fail together by something other than their target, that is the cause, so the
 * analysis of a single check is left out.
 */
function shownAnalysis({ analysis, cause }: AlertFacts): AlertFacts['analysis'] {
  return cause && sharedOwners[cause.kind] !== undefined ? undefined : analysis;
}

/** Possible causes according to a model: if the rules name a cause, that one counts. */
function modelCauses(analysis: AlertFacts['analysis']): readonly ModelCause[] {
  return analysis?.certainty === 'OPEN' ? (analysis.fromModel?.causes ?? []) : [];
}

/** The one cause that was found, without the leading word for its certainty, which the label carries. */
function foundCause(facts: AlertFacts): [label: string, value: string][] {
  const analysis = shownAnalysis(facts);
  if (!analysis) return [];
  const label = analysisLabels[analysis.certainty];
  if (label === null) return causesFromModel(analysis);
  return [[label, cut(oneLine(analysis.rootCause.replace(/^\w+: /, '')), 2 * maxCauseLength)]];
}

/** Top causes from the model, labelled as possible and as coming from a model. */
function causesFromModel(analysis: AlertFacts['analysis']): [label: string, value: string][] {
  return modelCauses(analysis)
    .slice(0, 2)
    .map(({ cause, statements }) => {
      const [first] = statements;
      return [
        'Possible cause (from a model)',
        cut(oneLine(`${cause} ${first ? `Evidence: ${first.text}` : ''}`), 2 * maxCauseLength),
      ];
    });
}

function membersLine({ members }: AlertFacts): string {
  const { count, names } = members ?? { count: 0, names: [] };
  const others = count - names.length;
  return `${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}
