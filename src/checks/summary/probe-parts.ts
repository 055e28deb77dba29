import { expiryText } from '@picket/lib/figures/days-left.ts';
import type { DetailSummary, SummaryAssertion, SummaryLogLine, SummarySection } from './detail-summary.ts';
import { code, fact, instant, inWords, took, volatileFact } from './parts.ts';

interface Judged {
  readonly source: string;
  readonly property: string;
  readonly comparison: string;
  readonly target: string | number;
  readonly actual?: unknown;
  readonly error: string | null;
}

type Logged = Omit<SummaryLogLine, 'stage'>;

interface AddressRow {
  readonly address: string | null;
  readonly ipFamily: string;
  readonly verdict: 'passed' | 'degraded' | 'failed';
  readonly message: string | null;
  readonly responseTime: number;
  readonly isBrowsersChoice: boolean;
}

/** Fields in the details of all probes. */
interface ProbeDetail {
  readonly assertions: readonly Judged[];
  readonly jobLog: {
    readonly setup: readonly Logged[];
    readonly request: readonly Logged[];
    readonly teardown: readonly Logged[];
  } | null;
  readonly addresses?: readonly AddressRow[] | undefined;
}

/** Assertions, log and addresses of a probe. */
export function probeParts({
  assertions,
  jobLog,
  addresses = [],
}: ProbeDetail): Pick<DetailSummary, 'assertions' | 'log' | 'addresses'> {
  return {
    assertions: assertions.map(judgedAssertion),
    log: jobLog
      ? (['setup', 'request', 'teardown'] as const).flatMap((stage) => inStage(stage, jobLog[stage]))
      : [],
    addresses: addresses.length > 0 ? addressSection(addresses) : undefined,
  };
}

function judgedAssertion({ source, property, comparison, target, actual, error }: Judged): SummaryAssertion {
  const found = typeof actual === 'string' ? actual : (JSON.stringify(actual ?? null) ?? '');
  return {
    isMet: error === null,
    subject: inWords(source),
    ...{ property, error, expected: String(target) },
    comparison: inWords(comparison),
    found: actual === null || actual === undefined ? '–' : found,
  };
}

function inStage(stage: string, lines: readonly Logged[]): SummaryLogLine[] {
  return lines.map((line) => ({ ...line, stage }));
}

function addressSection(addresses: readonly AddressRow[]): SummarySection {
  const well = addresses.filter(({ verdict }) => verdict !== 'failed').length;
  return {
    title: 'Addresses',
    id: 'addresses',
    note: `${well} of ${addresses.length} respond as expected. The rest of this page shows the worst address.`,
    table: {
      caption: 'Results by address',
      columns: [
        { title: 'Address', role: 'key' },
        { title: 'Family' },
        { title: 'Verdict', role: 'compared' },
        { title: 'Time', isNumber: true, role: 'compared' },
        { title: 'A browser uses' },
        { title: 'Why' },
      ],
      rows: addresses.map(({ address, ipFamily, verdict, responseTime, isBrowsersChoice, message }) => [
        code(address) ?? 'none',
        ipFamily,
        { kind: 'state', state: verdict, text: verdict },
        took(responseTime),
        isBrowsersChoice ? 'this one' : null,
        message,
      ]),
    },
  };
}

interface Certificate {
  readonly host?: string | undefined;
  readonly subject: string | null;
  readonly issuer: string | null;
  readonly validTo: string;
  readonly daysRemaining: number;
  readonly protocol: string | null;
  readonly cipher: string | null;
}

const soonDays = 14;

/** Sections for the certificate of a target. */
export function certificateSections(certificate: Certificate | null): SummarySection[] {
  if (!certificate) return [];
  const { host, subject, issuer, validTo, daysRemaining: days, protocol, cipher } = certificate;
  const problem = days < soonDays ? 'renew it' : null;
  return [
    {
      title: 'Certificate',
      id: 'certificate',
      facts: [
        fact('Host', host ?? null),
        fact('Issued to', subject),
        fact('Issued by', issuer),
        fact('Valid to', instant(validTo)),
        volatileFact('First of the chain', expiryText(days), problem),
        fact('Protocol', protocol),
        fact('Cipher', cipher),
      ],
    },
  ];
}
