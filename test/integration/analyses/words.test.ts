import { describe, expect, it } from 'vitest';
import { failureCatalogue } from '../../../src/checks/contract/failure.ts';
import { checkTypeNames } from '../../../src/checks/index.ts';
import { detailsOfOlderAgent } from '../../../src/checks/judging/older-agents.ts';
import { analyse } from '../../../src/service/analyses/analyse.ts';
import type { Evidence, StoredRun } from '../../../src/service/analyses/evidence.ts';
import { wholeDetail } from '../../helpers/whole-detail.ts';

/** Deterministic, so that a failing seed can be repeated. */
function random(seed: number) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  return { next, pick };
}

type Random = ReturnType<typeof random>;

const hosts = ['shop.test', 'api.example.org', '10.20.30.40', '[2001:db8::7]', 'xn--bcher-kva.example'];
const messages = [
  'connect ECONNREFUSED 10.1.2.3:8443',
  'timed out after 5123 ms while connecting (shop.test:443)',
  'timed out after 29871 ms while downloading the body (10.1.2.3:80)',
  'TLS failed: tlsv1 alert protocol version (shop.test:443) [ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION]',
  "certificate has expired; this host's clock says 2026-11-23T09:10:11.000Z (shop.test:443) [CERT_HAS_EXPIRED]",
  "Hostname/IP does not match certificate's altnames: Host: shop.test. is not in the cert's altnames: DNS:other.test",
  'proxy 10.9.9.9:3128 answered 503 Service Unavailable to CONNECT shop.test:443',
  'the resolver gave no answer for shop.test: 10.0.0.53 answered SERVFAIL',
  'Assertion failed: JSON_BODY $.total EQUALS 17, received 18',
  'more than 10 redirects; the last one was at shop.test/a',
  'page.goto: net::ERR_CONNECTION_REFUSED at http://shop.test:8123/\nCall log:\n  - navigating to "http://shop.test:8123/"',
  "locator.click: Timeout 1500ms exceeded.\nCall log:\n  - waiting for locator('#buy-17')",
  '',
  'x'.repeat(5_000),
  '\u0000\ud800 <script>alert(1)</script> ${7*7} \u202e',
];
const codes = [...Object.keys(failureCatalogue), null, 'OF_A_NEWER_AGENT'];
const types = checkTypeNames.filter((name) => name !== 'HEARTBEAT');

function value({ next, pick }: Random, depth = 0): unknown {
  const kind = Math.floor(next() * (depth > 3 ? 5 : 7));
  if (kind === 0) return null;
  if (kind === 1) return pick([0, -1, 1e300, Number.NaN, 17.25, 404, 502, true, false]);
  if (kind === 2) return pick(messages);
  if (kind === 3) return pick(hosts);
  if (kind === 4) return undefined;
  if (kind === 5)
    return Array.from({ length: Math.floor(next() * 4) }, () => value({ next, pick }, depth + 1));
  return detail({ next, pick }, depth + 1);
}

const names = [
  'request',
  'response',
  'assertions',
  'errors',
  'jobLog',
  'jobAssets',
  'pageErrors',
  'pcapDataUrl',
];
const inner = [
  ...[
    'url',
    'hostname',
    'headers',
    'status',
    'body',
    'timingPhases',
    'certificate',
    'redirects',
    'pingResults',
  ],
  ...[
    'subject',
    'issuer',
    'validTo',
    'query',
    'recordType',
    'returnCode',
    'answer',
    'nameServerInfo',
    'host',
  ],
  ...[
    'source',
    'property',
    'comparison',
    'target',
    'actual',
    'error',
    'message',
    'test',
    'kind',
    'href',
    'from',
  ],
  ...['firstByte', 'tls', 'dns', 'total', 'msg', 'ipAddress', 'packetLoss', 'via', 'server', 'retry-after'],
];

function detail(given: Random, depth = 0): unknown {
  const { next, pick } = given;
  const list = depth === 0 ? names : inner;
  return Object.fromEntries(
    Array.from({ length: 1 + Math.floor(next() * 6) }, () => [pick(list), value(given, depth)]),
  );
}

/** A realistic detail with random values. */
function anyDetail(given: Random): unknown {
  const { next, pick } = given;
  const url = `http://${pick(hosts)}:${1000 + Math.floor(next() * 9000)}/path/${Math.floor(next() * 99)}`;
  return {
    assertions: [
      {
        source: pick(['JSON_BODY', 'TEXT_BODY', 'STATUS_CODE', 'RESPONSE_TIME', 'TEXT_ANSWER', 'HEADERS']),
        ...{ property: pick(['', '$.total', 'etag']), comparison: 'EQUALS', target: String(next() * 100) },
        ...{ actual: next() * 100, error: pick([null, 'not so']) },
      },
    ],
    request: {
      url,
      headers: pick([{}, { authorization: '***' }]),
      ...pick([{}, { query: 'shop.test', recordType: 'A' }]),
    },
    response: {
      status: pick([0, 200, 301, 401, 403, 404, 410, 429, 500, 502, 503, 504]),
      headers: pick([null, {}, { via: '1.1 edge-7' }, { server: 'nginx/1.25.3', 'retry-after': '120' }]),
      body: pick(['', 'a\nb 12\nc', 'a\nb 13\nc', '{"total":18}']),
      timingPhases: {
        dns: next() * 50,
        tcp: next() * 50,
        firstByte: next() * 900,
        tls: next() * 90,
        download: next() * 90,
        total: 1,
      },
      certificate: pick([
        null,
        { subject: pick(hosts), issuer: 'CA 7', validTo: '2026-10-01T00:00:00.000Z' },
      ]),
      redirects: pick([
        [],
        [
          { href: url, status: 302 },
          { href: url, status: 301 },
        ],
      ]),
      ipAddress: pick([null, '10.1.2.3']),
      packetLoss: pick([null, 40, 12.5]),
      answer: pick(['192.0.2.1', '192.0.2.2', '']),
      ...{
        returnCode: pick(['NOERROR', 'NXDOMAIN', 'SERVFAIL']),
        pingResults: [{ success: false, from: '10.7.7.1', error: 'x' }],
      },
    },
    ...pick([
      {},
      {
        errors: [
          { name: pick(['Error', 'TypeError', 'ReferenceError']), message: pick(messages), test: 'buys 3' },
        ],
      },
    ]),
    jobLog: {
      request: [
        {
          msg: 'Diagnosis: traceroute.txt: there is no way on, says the last hop (it ended in hop 4, 10.3.3.3)',
        },
      ],
    },
    jobAssets: ['traceroute.txt'],
  };
}

function runOf(given: Random): StoredRun {
  const { next, pick } = given;
  const type = pick(types);
  const wholeOf = (one: Random) => wholeDetail(type, anyDetail(one));
  const [code, message] = [pick(codes), pick([...messages, null])];
  return {
    ...{
      id: 'r',
      startedAt: `2026-11-23T0${Math.floor(next() * 10)}:10:00.000Z`,
      location: pick(['lab', 'eu-7']),
    },
    ...{ code, message, errorMessages: [pick(messages), pick(messages)] },
    responseTime: next() * 3000,
    type,
    details: detailsOfOlderAgent(code ?? '', message ?? ''),
    detail: pick([wholeOf, wholeOf, detail, value])(given),
  };
}

function evidenceOf(given: Random): Evidence {
  const { next, pick } = given;
  const company = (kind: 'host' | 'address' | 'location') => {
    const checks = Math.floor(next() * 60);
    const failing = Math.floor(next() * (checks + 1));
    return {
      kind,
      value: pick(hosts),
      checks,
      failing,
      failingHosts: Math.floor(next() * (failing + 1)),
      names: ['Pay 4'],
    };
  };
  return {
    check: { name: pick(['Shop', 'Shop 24', '']), type: 'URL', createdAt: null },
    errorMessage: pick(messages),
    failing: Array.from({ length: Math.floor(next() * 3) }, () => runOf(given)),
    passed: Array.from({ length: Math.floor(next() * 3) }, () => runOf(given)),
    failingSince: pick([null, '2026-11-23T08:15:00.000Z']),
    elsewhere: pick([[], [{ location: 'us-3', passes: true }], [{ location: 'us-3', passes: false }]]),
    company: pick([null, [company('host'), company('location')]]),
    locationEvents: pick([
      [],
      [{ kind: 'network', evidence: '3 of 4 anchors', startedAt: '2026-11-23T08:00:00.000Z', endedAt: null }],
    ]),
    changes: pick([[], [{ resource: 'checks/1', at: '2026-11-23T08:05:00.000Z', fields: ['request'] }]]),
    maintenance: pick([[], [], ['Move 12']]),
  };
}

/** Numbers, addresses and hosts in some text that are not in its evidence. */
const meanings = Object.values(failureCatalogue).map(({ meaning }) => meaning);

function invented(words: string, evidence: Evidence): string[] {
  const known = JSON.stringify(evidence);
  const plain = known
    .replaceAll(/\\[nrt]/g, ' ')
    .replaceAll('\\"', '"')
    .replaceAll('\\\\', '\\');
  const rounded = new Set(
    [...known.matchAll(/-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g)].map(([one]) => String(Math.round(Number(one)))),
  );
  const tokens = words.match(/(?<![\w])\[?[\w-]*[\d.:][\w.:-]*[\w\]]/g) ?? [];
  return tokens.filter((token) => {
    const bare = token.replace(/[.:…]+$/, '');
    if (!/\d/.test(bare) && !/^[\w-]+(\.[\w-]+)+$/.test(bare)) return false;
    return !known.includes(bare) && !plain.includes(bare) && !rounded.has(bare);
  });
}

describe('analyse', () => {
  it('never throws, and contains no number, address or host that is not in its evidence', () => {
    for (let seed = 1; seed <= 4_000; seed += 1) {
      const evidence = evidenceOf(random(seed));
      const { evidence: items, rootCause, userImpact, codeFix, certainty } = analyse(evidence);
      const first = { CERTAIN: 'Certain: ', LIKELY: 'Likely: ', OPEN: 'Open: ' }[certainty];
      expect(rootCause.startsWith(first), `seed ${seed}`).toBe(true);
      const words = [rootCause, userImpact, codeFix, ...items.map(({ description }) => description)].join(
        '\n',
      );
      expect(words, `seed ${seed}`).not.toMatch(/\bundefined\b|\bnull\b|\[object/);
      // Names of settings, as in the documentation.
      const own = words
        .replaceAll('net.ipv4.ping_group_range', '')
        .replaceAll('resolv.conf', '')
        // For a run without a message, the sentence is the meaning of its code.
        .replaceAll(/^.* Failed part: .*$/gm, (line) =>
          meanings.reduce((rest, one) => rest.replace(one, ''), line),
        );
      expect(invented(own, evidence), `seed ${seed}: ${words}`).toEqual([]);
    }
  });
});
