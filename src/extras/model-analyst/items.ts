import { type EvidenceItem, shown } from '@picket/service/analyses/conclusion.ts';
import { relevantChanges } from '@picket/service/analyses/rules/change.ts';
import type { AnalysisInput } from '@picket/service/analyses/run-view/case.ts';
import { quoted } from '@picket/service/analyses/run-view/read.ts';
import type { RunView } from '@picket/service/analyses/run-view/run-view.ts';

/** A piece of evidence as shown to a model, and as its statements cite it. */
export interface CitedItem {
  readonly id: string;
  readonly text: string;
  /** The author of the text if it is not Picket: such words are never repeated as our own. */
  readonly saidBy: string | null;
  readonly artifacts: EvidenceItem['artifacts'];
}

type Item = Omit<CitedItem, 'id'>;

const maxItems = 40;
const maxLength = 400;
const maxBodyLength = 1500;
const maxLogLines = 8;
const tellingHeaders =
  /^(server|via|content-type|content-length|retry-after|location|www-authenticate|x-cache|cf-ray|age|x-powered-by|x-request-id)$/;

/** All facts known about a failure, in pieces with ids; limited in size, and only with values that agents sent. */
export function citedItems(given: AnalysisInput): CitedItem[] {
  const items = [
    ...errorItems(given),
    ...answerItems(given),
    ...timeItems(given),
    ...passItems(given),
    ...aroundItems(given),
    ...logItems(given),
  ];
  return items.slice(0, maxItems).map((item, index) => ({ id: `E${index + 1}`, ...item }));
}

function own(
  text: string,
  ...where: Parameters<typeof shown> extends [string, ...infer Rest] ? Rest : never
): Item {
  return { text: bounded(text, maxLength), saidBy: null, artifacts: shown('', ...where).artifacts };
}

function foreign(
  saidBy: string,
  text: string,
  ...where: Parameters<typeof shown> extends [string, ...infer Rest] ? Rest : never
): Item[] {
  const plain = bounded(text, saidBy === bodyWords ? maxBodyLength : maxLength);
  return plain === '' ? [] : [{ text: plain, saidBy, artifacts: shown('', ...where).artifacts }];
}

const bodyWords = 'the response body';

function bounded(text: string, length: number): string {
  const plain = text.replaceAll(/[^\P{C}\n\t]/gu, '').trim();
  return plain.length > length ? `${plain.slice(0, length).toWellFormed()}…` : plain;
}

function errorItems({ run, evidence, verdict }: AnalysisInput): Item[] {
  const { result } = run;
  return [
    own(
      `The check ${quoted(evidence.check.name)} failed at ${result.location} at ${result.startedAt}.`,
      'error',
    ),
    ...(run.code === ''
      ? []
      : [own(`The failure has the code ${run.code}. Failed part: ${verdict.whatFailed}.`, 'error')]),
    ...foreign('the error of the run', run.message, 'error', ...run.files),
    ...result.errorMessages
      .filter((message) => message !== run.message)
      .slice(0, 3)
      .flatMap((message) => foreign('an error of the run', message, 'error')),
    ...(evidence.failingSince === null
      ? []
      : [own(`The check has failed since ${evidence.failingSince}.`, 'error')]),
  ];
}

function answerItems({ run }: AnalysisInput): Item[] {
  return [
    ...(run.url === null ? [] : [own(`The check requested ${quoted(run.url)}.`, 'request')]),
    ...(run.address === null ? [] : [own(`The address of the target was ${run.address}.`, 'request')]),
    ...(run.status === null ? [] : [own(`The target responded with status ${run.status}.`, 'response')]),
    ...[...run.headers]
      .filter(([name]) => tellingHeaders.test(name))
      .flatMap(([name, value]) => foreign(`the response header ${name}`, quoted(value), 'response')),
    ...run.redirects
      .slice(0, 3)
      .map(({ href, status }) =>
        own(`It redirected${status === null ? '' : ` with ${status}`} to ${quoted(href)}.`, 'response'),
      ),
    ...foreign(bodyWords, run.body, 'response'),
    ...assertionItems(run),
    ...dnsItems(run),
    ...(run.certificate === null
      ? []
      : [own(`The certificate is valid until ${run.certificate.validTo}.`, 'certificate')]),
    ...(run.pings.length === 0
      ? []
      : [
          own(
            `${run.pings.filter(({ success }) => success).length} of ${run.pings.length} pings got a reply.`,
            'pings',
          ),
        ]),
    ...(run.route === null
      ? []
      : [
          own(
            `The traceroute of the diagnosis ended as ${run.route.end}${run.route.router === null ? '' : ` after ${run.route.router}`}.`,
            'error',
            ...run.files,
          ),
        ]),
  ];
}

function assertionItems({ assertions }: RunView): Item[] {
  return assertions
    .filter(({ failed }) => failed)
    .slice(0, 5)
    .flatMap(({ source, property, comparison, target, actual }) => {
      const name = [source, property, comparison, target].filter((word) => word !== '').join(' ');
      return [
        own(`The assertion ${quoted(name)} failed.`, 'assertions'),
        ...foreign(`the actual value of ${quoted(name)}`, quoted(actual), 'assertions'),
      ];
    });
}

function dnsItems({ dns }: RunView): Item[] {
  if (!dns) return [];
  return [
    own(`The name server answered ${dns.returnCode} for ${quoted(dns.query)} ${dns.recordType}.`, 'answer'),
    ...foreign('the answer of the name server', quoted(dns.answer), 'answer'),
  ];
}

const ms = (value: number) => `${Math.round(value)} ms`;

function timeItems({ run, before }: AnalysisInput): Item[] {
  const phases = [...run.phases].map(([name, took]) => {
    const earlier = before?.phases.get(name);
    return own(
      `The phase ${name} took ${ms(took)}${earlier === undefined ? '' : `, and ${ms(earlier)} at the last pass`}.`,
      'phases',
      ...(earlier === undefined ? [] : (['lastPass'] as const)),
    );
  });
  return [own(`The run took ${ms(run.result.responseTime)}.`, 'phases'), ...phases.slice(0, 8)];
}

function passItems({ before, run }: AnalysisInput): Item[] {
  if (!before) return [own('The check did not pass in the seven days before.', 'lastPass')];
  const { result, status, body } = before;
  const isOther = body.trim() !== '' && body !== run.body;
  return [
    own(`The last pass was at ${result.startedAt} and took ${ms(result.responseTime)}.`, 'lastPass'),
    ...(status === null ? [] : [own(`The last pass got status ${status}.`, 'lastPass')]),
    ...(isOther ? foreign('the body of the last pass', body, 'lastPass') : []),
  ];
}

function aroundItems(given: AnalysisInput): Item[] {
  const { evidence } = given;
  return [
    ...evidence.elsewhere
      .slice(0, 6)
      .map(({ location, passes }) =>
        own(`The check ${passes ? 'passes' : 'fails'} at ${location}.`, 'locations'),
      ),
    ...(evidence.company ?? [])
      .filter(({ checks }) => checks > 0)
      .map(({ kind, value, checks, failing, names }) =>
        own(
          failing === 0
            ? `None of the ${checks} other checks of the ${kind} ${value} fails.`
            : `${failing} of the ${checks} other checks of the ${kind} ${value} fail as well: ${names.map(quoted).join(', ')}.`,
          'checks',
        ),
      ),
    ...evidence.locationEvents.map(({ kind, startedAt, evidence: seen }) =>
      own(`An agent of the location reported ${kind} from ${startedAt}: ${quoted(seen)}.`, 'locationEvent'),
    ),
    ...relevantChanges(given)
      .slice(0, 5)
      .map(({ resource, at, fields }) =>
        own(`A change was made to ${resource} (${fields.join(', ')}) at ${at}.`, 'change'),
      ),
    ...evidence.maintenance
      .slice(0, 3)
      .map((name) => own(`The maintenance window ${quoted(name)} was in effect.`, 'maintenance')),
  ];
}

function logItems({ run }: AnalysisInput): Item[] {
  const pageErrors = run.script?.pageErrors ?? [];
  return [
    ...pageErrors.slice(0, 5).flatMap(({ message }) => foreign('an error of the page', message, 'steps')),
    ...run.log.slice(-maxLogLines).flatMap((line) => foreign('the log of the run', line, 'steps')),
  ];
}
