import {
  api,
  asserts,
  authorized,
  changed,
  status,
  toApi,
  toPage,
  url,
  web,
  withPage,
} from '../../helpers/analyses/fault-stage.ts';
import { evidenceOf, realRun, type SeededFault } from '../../helpers/analyses/real-runs.ts';
import { startSocketServer } from '../../helpers/websocket/socket-server.ts';

/** Faults of responses, of their speed, of the check and of the location. */
export const answerFaults: readonly SeededFault[] = [
  {
    name: 'a page that was removed',
    code: 'STATUS_UNEXPECTED',
    evidence: () => status(404),
    ...{
      cause: /has no page at .*removed or moved/,
      classification: 'APPLICATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'credentials that are not accepted any more',
    code: 'STATUS_UNEXPECTED',
    evidence: () => changed({ status: 401 }, () => api(toApi(authorized))),
    ...{
      cause: /does not accept the credentials.*did before/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a page that wants a login since',
    code: 'STATUS_UNEXPECTED',
    evidence: () => status(401),
    ...{
      cause: /requires credentials.*sends none/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a firewall that keeps the client out',
    code: 'STATUS_UNEXPECTED',
    evidence: () => status(403),
    ...{ cause: /refuses access/, classification: 'CONFIGURATION_ERROR', certainty: 'LIKELY' },
  },
  {
    name: 'a rate limit',
    code: 'STATUS_UNEXPECTED',
    evidence: () => status(429, { 'retry-after': '120' }),
    ...{
      cause: /limits the rate.*Retry-After: 120/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'an error of the program',
    code: 'STATUS_UNEXPECTED',
    evidence: () => status(500),
    ...{ cause: /program at .* fails/, classification: 'APPLICATION_ERROR', certainty: 'CERTAIN' },
  },
  {
    name: 'a gateway without a service behind it',
    code: 'STATUS_UNEXPECTED',
    evidence: () => status(502, { via: '1.1 edge.test' }),
    ...{
      cause: /gateway.*502.*1\.1 edge\.test/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a plain server that refuses for now, and says why',
    code: 'STATUS_UNEXPECTED',
    evidence: () => status(503),
    ...{
      cause: /^Likely: The server at .* is temporarily unavailable: it responds with 503\. .*It says: “\S/,
      classification: 'APPLICATION_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'redirects in a circle',
    code: 'REDIRECT_LIMIT',
    evidence: async () => evidenceOf(await url({ request: { url: `${web.url}/ring/a` } })),
    ...{ cause: /form a loop.*\/ring\//, classification: 'CONFIGURATION_ERROR', certainty: 'CERTAIN' },
  },
  {
    name: 'a server that works longer than it did',
    code: 'MAX_RESPONSE_TIME_EXCEEDED',
    evidence: () => changed({ delayMs: 400 }, () => url({ ...toPage(), maxResponseTime: 350 })),
    ...{
      cause: /time to first byte of the server/,
      classification: 'PERFORMANCE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a server that hangs',
    code: 'RESPONSE_TIMEOUT',
    evidence: async () =>
      evidenceOf(await url({ request: { url: `${web.url}/delay/9000` } }, { timeoutMs: 300 })),
    ...{ cause: /sent no byte of a response/, classification: 'PERFORMANCE_ERROR', certainty: 'LIKELY' },
  },
  {
    name: 'a body that does not end',
    code: 'RESPONSE_TIMEOUT',
    evidence: async () => evidenceOf(await url({ request: { url: `${web.url}/half` } }, { timeoutMs: 300 })),
    ...{
      cause: /began its response, but did not finish it/,
      classification: 'PERFORMANCE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a body that was changed',
    code: 'ASSERTION_FAILED',
    evidence: () =>
      changed({ body: 'Basket\nis closed' }, () =>
        api(toApi(asserts('TEXT_BODY', '', 'CONTAINS', '3 items'))),
      ),
    ...{
      cause: /it said “3 items” and now says “is closed”/,
      classification: 'APPLICATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a value of a JSON document that was changed',
    code: 'ASSERTION_FAILED',
    evidence: async () => {
      const document = { headers: { 'content-type': 'application/json' }, body: '{"total":17}' };
      return withPage(document, () =>
        changed({ body: '{"total":16}' }, () => api(toApi(asserts('JSON_BODY', '$.total', 'EQUALS', '17')))),
      );
    },
    ...{
      cause: /value at \$\.total is .*16.*was .*17/,
      classification: 'APPLICATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
  {
    name: 'a check that asks for another page since it was edited',
    code: 'STATUS_UNEXPECTED',
    evidence: async () => {
      const passed = await url(toPage());
      const at = new Date().toISOString();
      const failing = await url({ request: { url: `${web.url}/pgae` } });
      return evidenceOf(failing, {
        passed: [passed],
        changes: [{ resource: 'checks/1', at, fields: ['name', 'request'] }],
      });
    },
    ...{
      cause: /check was changed.*now requests .*\/pgae,/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'an assertion that was added and never held',
    code: 'ASSERTION_FAILED',
    evidence: async () => {
      const passed = await api(toApi());
      const at = new Date().toISOString();
      const failing = await api(toApi(asserts('TEXT_BODY', '', 'CONTAINS', 'Baskets')));
      return evidenceOf(failing, {
        passed: [passed],
        changes: [{ resource: 'checks/1', at, fields: ['request'] }],
      });
    },
    ...{ cause: /failed assertion is new/, classification: 'CONFIGURATION_ERROR', certainty: 'LIKELY' },
  },
  {
    name: 'a location most of whose checks fail',
    code: 'RESPONSE_TIMEOUT',
    evidence: async () =>
      evidenceOf(await url({ request: { url: `${web.url}/delay/9000` } }, { timeoutMs: 300 }), {
        company: [
          { kind: 'location', value: 'lab', checks: 9, failing: 8, failingHosts: 6, names: ['Mail'] },
        ],
      }),
    ...{
      cause: /location lab itself: 8 of its other 9 checks/,
      classification: 'INFRASTRUCTURE_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a server of messages that leaves',
    code: 'DIALOGUE_FAILED',
    evidence: async () => {
      await using server = await startSocketServer();
      const request = { url: `${server.url}/gone`, steps: [{ type: 'EXPECT' }] };
      return evidenceOf(await realRun('WEBSOCKET', { request }));
    },
    ...{
      cause: /can be reached.*closed the conversation with code 4001/,
      classification: 'APPLICATION_ERROR',
      certainty: 'LIKELY',
    },
  },
];
