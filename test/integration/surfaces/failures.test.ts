import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { channelKinds } from '../../../src/channels/index.ts';
import { type FailureCode, failure, failureCatalogue } from '../../../src/checks/contract/failure.ts';
import { showRootCauses } from '../../../src/cli/api/causes.ts';
import { showLogs } from '../../../src/cli/api/checks.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import { runText } from '../../../src/cli/run/run-text.ts';
import { factsOf } from '../../../src/service/alerts/facts.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { isNight } from '../../helpers/night.ts';
import { type HttpReceiver, startHttpReceiver } from '../../helpers/service/alert-receivers.ts';
import { connectMcp, listening, textsOf } from '../../helpers/service/mcp/client.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';
import { channelTexts } from '../../helpers/surfaces/channel-texts.ts';
import { partOf } from '../../helpers/surfaces/documents.ts';

// One failed run of each code: every surface that explains a failed run shows the same sentence, and names the same
// part as the cause.
const target = 'the target';
const path = 'the target, or the network path to it';
const location = 'the location, not the target';
const agent = 'the agent, not the target';
const check = 'the definition of the check, not the target';
const script = 'the script of the check, not the target';
const either = 'the target, or the script of the check';

/** The failed part, by the code alone. Each new code needs an entry. */
const whatFailed: Readonly<Record<FailureCode, string>> = {
  ...{ NAME_NOT_FOUND: path, CONNECTION_REFUSED: target, CONNECTION_RESET: path, CONNECTION_TIMEOUT: path },
  ...{ HOST_UNREACHABLE: path, TLS_CERTIFICATE_INVALID: target, TLS_HANDSHAKE_FAILED: path },
  ...{ STARTTLS_REFUSED: target, TLS_CERTIFICATE_EXPIRING: target, TLS_BASELINE_VIOLATED: target },
  ...{ RESPONSE_TIMEOUT: path, RESPONSE_MALFORMED: target, RESPONSE_UNDECODABLE: target },
  ...{ REDIRECT_LIMIT: target, REDIRECT_INVALID: target, DNS_NO_ANSWER: path },
  ...{ RESPONSE_CODE_UNEXPECTED: target, STATUS_UNEXPECTED: target, SERVICE_NOT_SERVING: target },
  ...{ GRPC_REFLECTION_FAILED: target, DIALOGUE_FAILED: target, CONNECTION_UNEXPECTED: target },
  ...{ NO_REPLY: path, PACKET_LOSS_EXCEEDED: path, REPLY_UNEXPECTED: target, ASSERTION_FAILED: target },
  ...{ MAX_RESPONSE_TIME_EXCEEDED: target, RESOLVER_FAILED: location, LOCATION_SICK: location },
  ...{ NETWORK_UNAVAILABLE: location, ICMP_UNAVAILABLE: location, TRACEROUTE_UNAVAILABLE: location },
  ...{ PROXY_FAILED: location, LOGIN_UNAVAILABLE: location, AGENT_OUT_OF_RESOURCES: agent },
  ...{ AGENT_STARVED: agent, RUNNER_CRASHED: agent },
  ...{ CHECK_CRASHES_RUNNER: agent, RUN_ABORTED: agent, CHECK_TYPE_UNSUPPORTED: agent },
  ...{ TEMPLATE_INVALID: check, ASSERTION_INVALID: check, ASSERTION_TOO_COSTLY: check, URL_INVALID: check },
  ...{ HOST_INVALID: check, REQUEST_INVALID: check, SCRIPT_FAILED: target, SCRIPT_TIMED_OUT: either },
  ...{ SCRIPT_OUT_OF_MEMORY: script, SCRIPT_LIMIT_EXCEEDED: script, SCRIPT_INVALID: script },
  ...{ BUNDLE_INVALID: script, INSTALL_FAILED: script, INSTALL_TIMED_OUT: script },
  ...{ BUNDLE_UNAVAILABLE: agent, PACKAGE_MANAGER_MISSING: agent, RUNTIME_MISSING: agent },
  ...{ BROWSER_MISSING: agent, SANDBOX_UNAVAILABLE: agent, PING_MISSED: target, JOB_FAILED: target },
  JOB_UNFINISHED: target,
  ...{ REQUEST_REFUSED: target, DOMAIN_EXPIRING: target, DOMAIN_NOT_REGISTERED: target },
  ...{ RDAP_UNAVAILABLE: location, DOMAIN_EXPIRY_UNPUBLISHED: check },
  ...{ MODEL_PROVIDER_MISSING: agent, MODEL_UNAVAILABLE: agent, MODEL_ANSWER_INVALID: agent },
  ...{ MODEL_LIMIT_EXCEEDED: agent, PROMPT_NOT_FOLLOWED: either, STEP_FAILED: target },
  ...{
    ORIGIN_NOT_ALLOWED: check,
    EGRESS_DENIED: check,
    SECRET_UNAVAILABLE: location,
    CHECK_NOT_TRUSTED: location,
  },
};

/** A failure, and the expected texts of every surface. */
interface Expected {
  readonly code: FailureCode;
  readonly message: string;
  readonly whatFailed: string;
  readonly sentence: string;
}

/** The message of a script contains the cause of its failure. */
const told: readonly (readonly [code: FailureCode, message: string, whatFailed: string])[] = [
  ['SCRIPT_FAILED', 'ReferenceError: basket is not defined', script],
  ['SCRIPT_FAILED', 'SyntaxError: Unexpected token in JSON at position 0', either],
  ['SCRIPT_FAILED', 'TypeError: fetch failed: connect ETIMEDOUT 192.0.2.7:443', path],
  ['SCRIPT_FAILED', 'TypeError: fetch failed: connect ECONNREFUSED 192.0.2.8:443', target],
];
const codes = Object.keys(failureCatalogue) as FailureCode[];
const cases = new Map<string, Expected>(
  [
    ...codes.map(
      (code) => [code, `it said so ${code.toLowerCase().replaceAll('_', ' ')}`, whatFailed[code]] as const,
    ),
    ...told,
  ].map(([code, message, what], index) => {
    const { isNetworkError, meaning } = failureCatalogue[code];
    const sentence = isNetworkError ? `${meaning.replace(/\.$/, '')}: ${message}` : message;
    return [`${index} ${code}`, { code, message, whatFailed: what, sentence }];
  }),
);
const names = [...cases.keys()];
/** Surfaces show the two texts of the API: by day one failure of each kind of texts, and all that a script caused. */
const shownNames = isNight
  ? names
  : [
      ...[
        ...Map.groupBy(cases, ([, { code, whatFailed: what, sentence, message }]) =>
          JSON.stringify([what, failureCatalogue[code].owner, sentence === message]),
        ).values(),
      ].flatMap(([first]) => first?.[0] ?? []),
      ...names.slice(-told.length),
    ];

let harness: ServiceHarness;
let reader: Visitor;
let api: ApiClient;
let url = '';
let hook: HttpReceiver;
const ids = new Map<string, string>();
const results = new Map<string, string>();

beforeAll(async () => {
  const clock = new ManualClock(Date.now());
  hook = await startHttpReceiver();
  harness = await openHarness({ clock, alerting: { ALERTS_PER_MINUTE: 0 } });
  url = await listening(harness);
  const place = await createLocation(harness, 'lab');
  const template = '{{CHECK_NAME}}|{{FAULT_OF}}|{{CAUSE}}';
  const config = { name: 'Ops', url: hook.url, method: 'POST', template };
  const { body: channel } = await harness.call('POST', '/v1/alert-channels', {
    ...{ type: 'WEBHOOK', config, groupByCause: false },
  });
  for (const name of names) {
    const fields = { name, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const alertChannelSubscriptions = [{ alertChannelId: channel.id, activated: true }];
    ids.set(name, (await createCheck(harness, { ...fields, alertChannelSubscriptions })).id);
  }
  harness.startScheduler();
  const own = new TestAgent(harness, place);
  const nameOf = new Map([...ids].map(([name, id]) => [id, name]));
  while (results.size < names.length) {
    clock.advance(1_000);
    for (const run of await own.claim()) {
      const name = nameOf.get(run.check.id) ?? '';
      if (results.has(name)) continue;
      results.set(name, run.resultId);
      const { code, message } = expectedOf(name);
      const detail = { request: { url: 'http://target.test/' }, response: null };
      await own.report([
        reportOf(run, {
          failure: failure(code, `${message}\nand more of it`),
          errorMessages: [message, 'another error of the same run'],
          detail,
        }),
      ]);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  harness.startAlerting();
  harness.startAnalyses();
  reader = new Visitor(harness.app);
  await reader.post('/login', { key: harness.key });
  api = new ApiClient({ PICKET_URL: url, PICKET_API_KEY: harness.key });
}, 120_000);
afterAll(async () => {
  await harness.close();
  await hook.close();
});

function expectedOf(name: string): Expected {
  const found = cases.get(name);
  if (!found) throw new Error(`there is no case ${name}`);
  return found;
}
const idOf = (name: string) => ids.get(name) ?? '';
const resultPath = (name: string) => `/v1/check-results/${idOf(name)}/${results.get(name)}`;
/** The visible text of a document. */
const shown = (document: string) =>
  document
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&#39;/g, "'")
    .replaceAll(/&quot;/g, '"')
    .replaceAll(/\\(?=[^nu"])/g, '')
    .replaceAll(/\s+/g, ' ');

/** The beginning of a sentence: rows do not show more. */
const beginning = (sentence: string) => sentence.slice(0, 100);

/** All names of failed parts: a surface that names one must not name another. */
const rivals = [target, path, location, agent, check, script, either];
function expectSaid(name: string, surface: string, text: string) {
  const { whatFailed: what, sentence } = expectedOf(name);
  expect(text, `${surface} of ${name}`).toContain(beginning(sentence));
  expect(text, `${surface} of ${name}`).toContain(what);
  const others = rivals.filter((other) => !what.includes(other) && text.includes(other));
  expect([surface, name, others]).toEqual([surface, name, []]);
}

describe('a failed run', () => {
  it('has its sentence in the API, and the failed part', async () => {
    for (const name of names) {
      const { body } = await harness.call('GET', resultPath(name));
      const { whatFailed: what, sentence } = expectedOf(name);
      expect([name, body.failure.whatFailed, body.failure.sentence]).toEqual([name, what, sentence]);
    }
  });

  it('is described equally on its page, on that of its check, in the overview and among alerts', async () => {
    const alerts = (await reader.get('/alerts')).body;
    expect(shownNames.length).toBeGreaterThan(8);
    for (const name of shownNames) {
      const run = (await reader.get(`/checks/${idOf(name)}/runs/${results.get(name)}`)).body;
      expectSaid(name, 'page of the run', shown(partOf(run, '<div class="verdict', '<section')));
      const page = (await reader.get(`/checks/${idOf(name)}`)).body;
      expectSaid(name, 'page of the check', shown(partOf(page, 'class="check-line"', '<nav class="ranges"')));
      const overview = (await reader.get(`/?q=${encodeURIComponent(name)}`)).body;
      expectSaid(name, 'overview', shown(partOf(overview, `id="check-${idOf(name)}"`, 'class="check-bars"')));
      const { owner } = failureCatalogue[expectedOf(name).code];
      if (owner === 'target' || owner === 'config')
        expectSaid(
          name,
          'alerts',
          shown(partOf(alerts, `href="/alerts/entries/check_${idOf(name)}"`, '</td>')),
        );
    }
  }, 120_000);

  it('is described equally in commands and to language models', async () => {
    const client = await connectMcp(url, { key: harness.key });
    try {
      for (const name of shownNames) {
        const { code, message } = expectedOf(name);
        const logs = await showLogs(api, [idOf(name)], { since: '1d' });
        expectSaid(name, 'picket logs', logs.lines(400).join('\n'));
        const report = reportOf({} as never, { failure: failure(code, message), errorMessages: [message] });
        const text = runText({ name: 'x', checkType: 'URL' }, report, process.stdout);
        expectSaid(name, 'picket run', text);
        const names = { checkId: idOf(name), resultId: results.get(name) };
        const answer = await client.callTool({ name: 'get_check_result', arguments: names });
        expectSaid(name, 'get_check_result', textsOf(answer as { content: unknown[] }).join('\n'));
      }
    } finally {
      await client.close();
    }
  }, 120_000);

  it('is described equally in the analysis of its cause: one cause, and its kind is that of the failed part', async () => {
    for (const name of names) {
      const groups = await analysed(name);
      const { analysis } = groups[0].rootCauseAnalyses[0];
      const { whatFailed: what, sentence } = expectedOf(name);
      expect([name, analysis.evidence[0].description]).toEqual([
        name,
        `${/[.!?…]$/.test(sentence) ? sentence : `${sentence}.`} Failed part: ${what}.`,
      ]);
      expect([name, analysis.whatFailed, analysis.kind]).toEqual([name, what, expect.any(String)]);
      const kinds = kindsOf[what] ?? [];
      expect([name, analysis.classification, kinds]).toEqual([name, expect.toBeOneOf([...kinds]), kinds]);
      const why = (await showRootCauses(api, [idOf(name)], {})).lines(400);
      const text = why.join('\n');
      expect([name, text.split(/(?:Certain|Likely|Open): /).length]).toEqual([name, 2]);
      expect([name, text]).toEqual([name, expect.stringContaining(`Kind: ${analysis.kind}`)]);
      expectSaid(name, 'picket why', text);
      const page = (await reader.get(`/checks/${idOf(name)}/runs/${results.get(name)}`)).body;
      const section = shown(partOf(page, 'id="root-cause"', '</section>'));
      expect([name, section.split(/(?:Certain|Likely|Open): /).length]).toEqual([name, 2]);
      expect([name, section]).toEqual([name, expect.stringContaining(`Kind ${analysis.kind}`)]);
      expectSaid(name, 'root cause', section);
    }
  }, 120_000);

  it('is described equally to webhooks, and to channels of every kind', async () => {
    const alerted = names.filter((name) => {
      const { owner } = failureCatalogue[expectedOf(name).code];
      return owner === 'target' || owner === 'config';
    });
    while (hook.received.length < alerted.length) {
      (harness.clock as ManualClock).advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const said = new Map(
      hook.received.map(({ body }) => {
        const [name = '', fault, cause] = body.split('|');
        return [name, [fault, cause]];
      }),
    );
    for (const name of alerted) {
      const { whatFailed: what, sentence } = expectedOf(name);
      expect([name, said.get(name)]).toEqual([name, [what, sentence]]);
    }
    expect(said.size).toBe(alerted.length);
    for (const name of alerted) await everyChannel(name);
  }, 120_000);
});

/** Classifications that an analysis may choose for each failed part. */
const kindsOf: Readonly<Record<string, readonly string[]>> = {
  [target]: [
    'CONFIGURATION_ERROR',
    'INFRASTRUCTURE_ERROR',
    'APPLICATION_ERROR',
    'PERFORMANCE_ERROR',
    'UNKNOWN',
  ],
  [path]: [
    'CONFIGURATION_ERROR',
    'INFRASTRUCTURE_ERROR',
    'APPLICATION_ERROR',
    'PERFORMANCE_ERROR',
    'UNKNOWN',
  ],
  [location]: ['INFRASTRUCTURE_ERROR', 'MONITORING_ERROR', 'CONFIGURATION_ERROR'],
  [agent]: ['MONITORING_ERROR'],
  [check]: ['CONFIGURATION_ERROR'],
  [script]: ['CONFIGURATION_ERROR'],
  [either]: ['CONFIGURATION_ERROR', 'UNKNOWN'],
};

/** The error groups of a check once its analysis is done; the first error of the run is first. */
async function analysed(name: string) {
  for (;;) {
    const { body } = await harness.call('GET', `/v1/error-groups/checks/${idOf(name)}`);
    if (
      body.length > 0 &&
      body.every((one: { rootCauseAnalyses: unknown[] }) => one.rootCauseAnalyses.length > 0)
    )
      return body;
    (harness.clock as ManualClock).advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The message of each kind of channel for its alert. */
async function everyChannel(name: string) {
  const { code, message } = expectedOf(name);
  const stored = await harness.store.checks.find(harness.accountId, idOf(name));
  if (!stored) throw new Error(`there is no check ${name}`);
  const { owner } = failureCatalogue[code];
  const facts = factsOf(
    stored,
    {
      ...{
        id: 'r1',
        check_type: 'URL',
        check_id: idOf(name),
        slot_at: 0,
        run_location: 'lab',
        response_time: 12,
        started: 0,
      },
      ...{ owner, code, message, failure_details: null, error_messages: '[]', detail: null },
      ...{ has_failures: 1, has_errors: 0, is_degraded: 0 },
    },
    {},
  );
  const texts = channelTexts(facts, { checkId: idOf(name) });
  expect([...texts.keys()].toSorted()).toEqual(channelKinds.map(({ type }) => type).toSorted());
  for (const [kind, text] of texts) expectSaid(name, kind, shown(text));
}
