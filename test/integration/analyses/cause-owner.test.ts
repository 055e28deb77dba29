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
import { isNight } from '../../helpers/night.ts';
import { wholeDetail } from '../../helpers/whole-detail.ts';

// A page shows both the verdict of a run and the analysis of its cause. For every code, with all known messages,
// details and surroundings that rules consider, both must name the same owner.

const url = 'http://shop.test:8080/basket';
const refused = 'connect ECONNREFUSED 192.0.2.8:8080';
const silent = 'connect ETIMEDOUT 192.0.2.7:443';

/** Messages of runs, by what they mention. */
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

/** Messages that only scripts and steps produce. */
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

/** Details of runs. */
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

/** The check type whose details have these fields. */
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

/** Evidence around a failure. */
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

/** The owner that the wording of a cause implies. */
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

/** Owners that a cause may have, by what failed. `path`: the route begins at the location. */
const allowed: Readonly<Record<Failing, readonly string[]>> = {
  target: ['target'],
  path: ['path', 'target', 'location'],
  location: ['location'],
  agent: ['agent'],
  check: ['check'],
  script: ['script'],
  'script-or-target': ['script', 'target', 'script-or-target'],
};

/** The phrase that rules out the target. */
const ofNothing = /the target was not (?:judged|tested)/g;

/** Wording of the kinds of such causes. */
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

/** Every code with all messages, details and surroundings. */
/** By day a third of them, each combination of two parts in some. */
const takenOfThree = isNight ? 3 : 1;

function* cases() {
  let round = 0;
  for (const [code, owner] of [...codes.map((one) => [one, undefined] as const), ...newer]) {
    const isNamed = !isFailureCode(code) || isNamedByMessage(code);
    for (const message of isNamed ? [...messages, ...scriptMessages] : messages) {
      const verdict = failureWords({ owner: owner ?? null, code, message });
      for (const detail of details(message)) {
        round += 1;
        for (const [index, [around, known]] of Object.entries(surroundings).entries()) {
          if ((round + index) % 3 >= takenOfThree) continue;
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
  it('has the owner of the verdict, whatever failed, and whatever is known about it', () => {
    const contradictions = new Map<string, string>();
    let count = 0;
    for (const { code, message, around, verdict, evidence } of cases()) {
      count += 1;
      const { failing, whatFailed } = verdict;
      const analysis = analyse(evidence);
      const { rootCause, classification, kind } = analysis;
      const known = `${code} (${around}) [${whatFailed}] ${classification}, ${kind}: ${rootCause}`;
      // Text that quotes the run's own message does not count.
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
    expect(count).toBeGreaterThan(25_000 * takenOfThree);
  });

  it('has a wording for its kind, whichever rule found it: one without would never be shown', () => {
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

  it('belongs to the run whose part failed, whatever the wording of the analysis', () => {
    const path = { failing: 'path' } as const;
    const stored = (failing: Failing | null, whatFailed: string | null) => ({ failing, whatFailed });
    expect(isOfRun(stored('path', 'in other words'), path)).toBe(true);
    expect(isOfRun(stored('target', 'the target, or the network path to it'), path)).toBe(false);
    // Analyses of earlier builds, which lack the field.
    expect(isOfRun(stored(null, 'the target, or the network on the way to it'), path)).toBe(true);
    expect(isOfRun(stored(null, 'the location, not the target'), path)).toBe(false);
    expect(isOfRun(stored(null, null), path)).toBe(true);
  });

  it('includes a change of the check only if the failed part of the verdict has failed since', () => {
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

  it('lists a maintenance window only as context if something else failed', () => {
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

  it('is chosen by a model among causes of the failed part', () => {
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
