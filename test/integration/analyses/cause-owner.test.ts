import { describe, expect, it } from 'vitest';
import { type FailureCode, failureCatalogue, isFailureCode } from '../../../src/checks/contract/failure.ts';
import { type Failing, failureWords } from '../../../src/checks/judging/failure-words.ts';
import { isNamedByMessage } from '../../../src/checks/judging/location-part.ts';
import { detailsOfOlderAgent } from '../../../src/checks/judging/older-agents.ts';
import { openCandidates } from '../../../src/extras/model-analyst/candidates.ts';
import { analyse } from '../../../src/service/analyses/analyse.ts';
import { isOfRun, kindWords } from '../../../src/service/analyses/cause-owner.ts';
import type { Evidence, StoredRun } from '../../../src/service/analyses/evidence.ts';
import { rules } from '../../../src/service/analyses/rules/index.ts';
import { analysisInput } from '../../../src/service/analyses/run-view/case.ts';
import { wholeDetail } from '../../helpers/whole-detail.ts';

// The verdict of a run and the analysis of its cause are read on one page. Every code, with all that messages and
// details say of it, in every surrounding that rules look at: both name one owner.

const url = 'http://shop.test:8080/basket';
const refused = 'connect ECONNREFUSED 192.0.2.8:8080';
const silent = 'connect ETIMEDOUT 192.0.2.7:443';

/** What runs are given as their message, by what it names. */
const messages: readonly string[] = [
  'it said so',
  'connect timed out after 5000 ms while connecting (shop.test:8080)',
  'timed out after 5000 ms while negotiating TLS (shop.test:443)',
  'the resolver gave no address for shop.test: 192.0.2.53 answered SERVFAIL',
  'proxy 192.0.2.9:3128 answered 407 Proxy Authentication Required to CONNECT shop.test:443',
  "certificate is not yet valid; this host's clock says 2026-11-23T09:10:11.000Z (shop.test:443) [CERT_NOT_YET_VALID]",
  'TLS failed: wrong version number (shop.test:443)',
  'Unexpected gRPC status 16 (UNAUTHENTICATED)',
  'ReferenceError: basket is not defined',
  'TypeError: Cannot read properties of undefined',
  `TypeError: fetch failed: ${silent}`,
  `TypeError: fetch failed: ${refused}`,
];

/** The same of what only scripts and steps say. */
const scriptMessages: readonly string[] = [
  'page.goto: net::ERR_NAME_NOT_RESOLVED at http://shop.test:8080/',
  'page.goto: net::ERR_PROXY_CONNECTION_FAILED at http://shop.test:8080/',
  'page.goto: net::ERR_TUNNEL_CONNECTION_FAILED at http://shop.test:8080/',
  'page.goto: net::ERR_INTERNET_DISCONNECTED at http://shop.test:8080/',
  'page.goto: net::ERR_CERT_DATE_INVALID at https://shop.test:8080/',
  "locator.click: Timeout 1500ms exceeded.\nCall log:\n  - waiting for locator('#buy')",
  'expect(received).toBe(expected)\nExpected: 3\nReceived: 4',
  'Test timeout of 30000ms exceeded',
];

const answered = (status: number, more: object = {}) => ({
  request: { url, headers: {} },
  response: {
    status,
    headers: {},
    body: 'no',
    timingPhases: { dns: 900, firstByte: 5, total: 905 },
    ...more,
  },
});
const dnsAnswer = (returnCode: string) => ({
  request: { query: 'shop.test', recordType: 'A' },
  response: { returnCode, answer: '192.0.2.1', nameServerInfo: { host: '192.0.2.53' } },
});
const scriptErrors = (message: string) => ({ errors: [{ name: 'Error', message, test: 'buys' }] });

/** What runs are given as their detail. */
const details = (message: string): readonly unknown[] => [
  null,
  ...[401, 404, 429, 503].map((status) => answered(status)),
  dnsAnswer('NXDOMAIN'),
  dnsAnswer('SERVFAIL'),
  {
    ...answered(200),
    assertions: [{ source: 'TEXT_BODY', comparison: 'CONTAINS', target: 'a', error: 'no' }],
  },
  { ...answered(200), assertions: [{ source: 'RESPONSE_TIME', comparison: 'LESS_THAN', error: 'no' }] },
  scriptErrors(message),
  scriptErrors(`TypeError: fetch failed: ${refused}`),
  scriptErrors('ReferenceError: basket is not defined'),
];

/** The type whose details have such fields. */
function typeOf(detail: unknown): string {
  if (detail === null) return 'API';
  const { errors, request } = detail as { errors?: unknown; request?: { query?: unknown } };
  if (errors) return 'MULTI_STEP';
  return request?.query ? 'DNS' : 'API';
}

const run = (code: string | null, message: string, fields: unknown, owner?: string): StoredRun => {
  const type = typeOf(fields);
  const detail = fields === null ? null : wholeDetail(type, fields);
  return {
    ...{ id: 'r1', startedAt: '2026-11-23T09:00:00.000Z', location: 'lab', responseTime: 900 },
    ...{ type, code, message, errorMessages: [message], detail, owner: owner ?? null },
    details: detailsOfOlderAgent(code ?? '', message),
  };
};
const passed = run(null, '', {
  request: { url: 'http://shop.test:8080/old' },
  response: { ...answered(200).response, body: 'yes', timingPhases: { dns: 3, firstByte: 5, total: 8 } },
});
const change = { resource: 'checks/1', at: '2026-11-23T08:05:00.000Z', fields: ['request'] };
const crowd = { checks: 9, failing: 9, failingHosts: 7, names: ['Pay'] };

/** What can be known around a failure. */
const surroundings: Readonly<Record<string, Partial<Evidence>>> = {
  plain: {},
  'passed before': { passed: [passed] },
  'changed check': { passed: [passed], changes: [change] },
  'changed variable': { passed: [passed], changes: [{ ...change, resource: 'variables/TOKEN' }] },
  maintenance: { maintenance: ['Move'] },
  'here only': { elsewhere: [{ location: 'office', passes: true }] },
  'crowded location': { company: [{ ...crowd, kind: 'location', value: 'lab' }] },
  'unhealthy location': {
    locationEvents: [{ kind: 'network', evidence: '3 of 4 anchors', startedAt: change.at, endedAt: null }],
  },
};

/** What words of a cause say that it lies with. */
const claims: readonly (readonly [words: RegExp, owner: string])[] = [
  [/\bnot the target\b|\bNot the target\b|is unhealthy|The location \S+ itself/, 'location'],
  [
    /The (?:resolver|proxy) of (?:the location )?lab (?:gave|fails|does)|The location lab (?:has no|does not)/,
    'location',
  ],
  [/The agent could not measure/, 'agent'],
  [/The definition of the check cannot|The check requests an address that the egress policy/, 'check'],
  [/egress policy of the agents at \S+ refuses/, 'agent'],
  [/^\w+: (?:The check|A resource of the check \(\S+\)) was changed/, 'check'],
  [/an error of the script itself|exceeded its limits|The script of the check cannot/, 'script'],
  [/an error of the script, or a response/, 'script-or-target'],
  [/^The target|^A dependency of the target|of the target/, 'target'],
  [/The network between the location and the target/, 'path'],
  [/maintenance window "Move" is in effect/, 'target'],
  [
    /refuses connections|accepted the connection|The connection (?:to it )?works|expired|not valid yet/,
    'target',
  ],
  [/does not respond at all|cannot be reached|There is no route|loses packets|no echo request/, 'target'],
  [/The program at|The server|A gateway|responds with|has changed|the check expects/, 'target'],
  [/does not exist, says|exists and has no address|name servers of the domain did not answer/, 'target'],
  [/^\w+: No rule explains this failure of (?:the target|shop\.test|\S+:\d+)\b/, 'target'],
];

/** What a cause may lie with by what failed. `path`: the way begins at the location. */
const allowed: Readonly<Record<Failing, readonly string[]>> = {
  target: ['target'],
  path: ['path', 'target', 'location'],
  location: ['location'],
  agent: ['agent'],
  check: ['check'],
  script: ['script'],
  'script-or-target': ['script', 'target', 'script-or-target'],
};

/** What says of the target that it is not concerned. */
const ofNothing = /the target was not (?:judged|tested)/g;

/** The kinds of such causes, in words. */
const kindsOf: Readonly<Record<Failing, RegExp>> = {
  target: /of the target|^not known/,
  path: /of the target|of the location|^not known/,
  location: /of the location|^not known/,
  agent: /^the agent|^not known/,
  check: /^the definition of the check$|^not known/,
  script: /^the script of the check$|^not known/,
  'script-or-target': /of the target|script of the check|^not known/,
};

const codes = [...Object.keys(failureCatalogue)] as FailureCode[];
const newer = ['agent', 'location', 'config', 'target'].map((owner) => ['OF_A_NEWER_AGENT', owner] as const);

/** Every code, what messages and details say of it, and what is known around it. */
function* cases() {
  for (const [code, owner] of [...codes.map((one) => [one, undefined] as const), ...newer]) {
    const isNamed = !isFailureCode(code) || isNamedByMessage(code);
    for (const message of isNamed ? [...messages, ...scriptMessages] : messages) {
      const verdict = failureWords({ owner: owner ?? null, code, message });
      for (const detail of details(message)) {
        for (const [around, known] of Object.entries(surroundings)) {
          const evidence: Evidence = {
            check: { name: 'Shop', type: 'URL', createdAt: null },
            errorMessage: message,
            failing: [run(code, message, detail, owner)],
            ...{ passed: [], failingSince: null, elsewhere: [], company: null },
            ...{ locationEvents: [], changes: [], maintenance: [] },
            ...known,
          };
          yield { code, message, around, verdict, evidence };
        }
      }
    }
  }
}

describe('the cause of a failed run', () => {
  it('lies with what its verdict says that failed, whatever failed, and whatever is known around it', () => {
    const contradictions = new Map<string, string>();
    let count = 0;
    for (const { code, message, around, verdict, evidence } of cases()) {
      count += 1;
      const { failing, whatFailed } = verdict;
      const analysis = analyse(evidence);
      const { rootCause, classification, kind } = analysis;
      const known = `${code} (${around}) [${whatFailed}] ${classification}, ${kind}: ${rootCause}`;
      // What the run said of itself is a quotation.
      const meaning = isFailureCode(code) ? failureCatalogue[code].meaning : '-';
      const own = rootCause
        .replaceAll(message.split('\n')[0] ?? '', '')
        .replace(meaning, '')
        .replace(ofNothing, '');
      for (const [words, claimed] of claims) {
        if (words.test(own) && !allowed[failing].includes(claimed))
          contradictions.set(`${failing} / ${claimed} / ${words}`, known);
      }
      const kinds = kindsOf[failing];
      if (kind === null || !kinds.test(kind)) contradictions.set(`${failing} / ${kind}`, known);
      if (analysis.whatFailed !== whatFailed)
        contradictions.set(`${failing} / ${analysis.whatFailed}`, known);
      const first = analysis.evidence[0]?.description ?? '';
      if (!first.endsWith(` Failed part: ${whatFailed}.`)) contradictions.set(`${failing} / ${first}`, known);
    }
    expect([...contradictions.values()]).toEqual([]);
    expect(count).toBeGreaterThan(75_000);
  });

  it('has words for its kind, whichever rule found it: one without them would never be shown', () => {
    const wordless = new Set<string>();
    for (const { evidence } of cases()) {
      const given = analysisInput(evidence);
      for (const rule of given ? rules : []) {
        const found = given && rule(given);
        if (found && kindWords(found) === null)
          wordless.add(`${rule.name}: ${found.owner} ${found.classification}`);
      }
    }
    expect([...wordless]).toEqual([]);
  });

  it('is of the run whose part failed, whatever words the analysis has for it', () => {
    const path = { failing: 'path' } as const;
    const stored = (failing: Failing | null, whatFailed: string | null) => ({ failing, whatFailed });
    expect(isOfRun(stored('path', 'in other words'), path)).toBe(true);
    expect(isOfRun(stored('target', 'the target, or the network path to it'), path)).toBe(false);
    // Analyses of earlier builds, which have no field for it.
    expect(isOfRun(stored(null, 'the target, or the network on the way to it'), path)).toBe(true);
    expect(isOfRun(stored(null, 'the location, not the target'), path)).toBe(false);
    expect(isOfRun(stored(null, null), path)).toBe(true);
  });

  it('is a change of the check only as one since which fails what the verdict says that failed', () => {
    for (const [code, message, part] of [
      ['STATUS_UNEXPECTED', 'Unexpected status 404', 'The target has failed since'],
      ['CONNECTION_TIMEOUT', silent, 'The target, or the network path to it, has failed since'],
      ['SCRIPT_FAILED', 'ReferenceError: basket is not defined', 'The script of the check has failed since'],
      [
        'SCRIPT_FAILED',
        'TypeError: a is not a function',
        'The target, or the script of the check, has failed since',
      ],
    ] as const) {
      const detail = code === 'SCRIPT_FAILED' ? scriptErrors(message) : answered(404);
      const analysis = analyse({
        check: { name: 'Shop', type: 'URL', createdAt: null },
        errorMessage: message,
        failing: [run(code, message, detail)],
        ...{ passed: [passed], failingSince: '2026-11-23T09:00:00.000Z', elsewhere: [], company: null },
        ...{ locationEvents: [], changes: [change], maintenance: [] },
      });
      const { rootCause, certainty, classification } = analysis;
      expect([certainty, classification]).toEqual(['LIKELY', 'CONFIGURATION_ERROR']);
      expect(rootCause).toContain(`Likely: ${part} the check was changed at ${change.at} (request), between`);
    }
  });

  it('leaves a maintenance window among what is known where something else failed', () => {
    const message = 'The network of this location was unhealthy';
    const { rootCause, evidence } = analyse({
      check: { name: 'Shop', type: 'URL', createdAt: null },
      errorMessage: message,
      failing: [run('LOCATION_SICK', message, null)],
      ...{ passed: [], failingSince: null, elsewhere: [], company: null },
      ...{ locationEvents: [], changes: [], maintenance: ['Move'] },
    });
    expect(rootCause).toContain('The location lab is unhealthy');
    const found = evidence.filter(({ artifacts }) =>
      artifacts.some(({ name }) => name === 'MAINTENANCE_WINDOW'),
    );
    expect(found.map(({ description }) => description)).toEqual([
      'In effect at 2026-11-23T09:00:00.000Z: Move',
    ]);
  });

  it('is chosen by a model among causes that lie with what failed', () => {
    const contradictions = new Set<string>();
    for (const { verdict, evidence } of cases()) {
      const given = analysisInput(evidence);
      for (const one of given ? openCandidates(given) : []) {
        if (!kindsOf[verdict.failing].test(kindWords(one) ?? '-'))
          contradictions.add(`${verdict.whatFailed}: ${one.words}`);
        for (const [words, claimed] of claims)
          if (words.test(one.words) && !allowed[verdict.failing].includes(claimed))
            contradictions.add(`${verdict.whatFailed}: ${one.words}`);
      }
    }
    expect([...contradictions]).toEqual([]);
  });
});
