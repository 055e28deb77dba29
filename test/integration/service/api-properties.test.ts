import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Route } from '../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { isNight, sampleOf } from '../../helpers/night.ts';
import { plannedRequests, sendPlanned } from '../../helpers/service/api-requests/api-requests.ts';
import { type InhabitedAccount, inhabit } from '../../helpers/service/api-requests/inhabited-account.ts';
import { naughtyTexts } from '../../helpers/service/api-requests/naughty-texts.ts';
import { textFields, writeText } from '../../helpers/service/api-requests/text-fields.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let account: InhabitedAccount;

beforeAll(async () => {
  harness = await openHarness();
  account = await inhabit(harness);
});
afterAll(async () => await harness.close());

/** Routes without a valid request here, with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  callMcp: 'its messages are those of another protocol, which real clients speak in test/integration/mcp',
  callTrigger: 'waits for runs',
  awaitCheckSession: 'waits for runs',
  awaitTestSession: 'waits for runs',
  checkStatusPageDomain: 'needs a name server',
  checkDashboardDomain: 'needs a name server',
  getAlertCause: 'failures have to be held for some seconds first',
  testAlertChannel: 'waits for the notifier, which does not run',
  downloadClientFile: 'needs a bundle that was uploaded over a real connection',
  peekClientBundle: 'needs a bundle that was uploaded over a real connection',
  followDeployment: 'goes on until the deployment has ended',
  awaitDeployment: 'waits for the job of deployments',
  getRootCauseAnalysis: 'nobody lists them: an error group names its own',
  updateRootCauseAnalysis: 'needs an analysis that is done',
  restoreCheckPlan: 'needs steps that a run has left',
  getAsset: 'bytes come over real connections',
  getTestSessionAsset: 'bytes come over real connections',
  getCodeBundle: 'bytes come over real connections',
  deleteCodeBundle: 'needs a bundle that was uploaded over a real connection',
  fetchCodeBundle: 'bytes come over real connections',
  subscribe: 'needs a mail server',
  confirmSubscription: 'its token is in a mail',
  unsubscribe: 'its token is in a mail',
  openAsset: 'its link is signed',
  showAlertPage: 'its id is in a notification',
  handleAlertByPage: 'its id is in a notification',
  callCheckTrigger: 'as callTrigger, with the id of its check',
  callCheckGroupTrigger: 'as callTrigger, with the id of its group',
  getUsageTerms: 'there are no contracts',
  getUsageSummary: 'there are no contracts',
  getUsageSeries: 'there are no contracts',
  acknowledgeAlert: 'needs a check that fails',
  getAlertEntry: 'needs a check that fails',
  withdrawAcknowledgement: 'needs a check that fails',
};

/** Required query parameters. */
function queryOf({ operationId, path }: Route): Readonly<Record<string, unknown>> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  if (operationId === 'getPrivateLocationMetrics') return { from: nowSeconds - 3600, to: nowSeconds };
  if (operationId === 'listAnalyticsMetrics') return { checkType: 'API' };
  if (operationId === 'listScheduleTimes') return { cron: '@daily' };
  if (operationId === 'getAnalyticsOfChecks') return {};
  if (operationId === 'rankChecks') return { by: 'availability' };
  return path.startsWith('/v1/analytics/') ? { metrics: 'availability' } : {};
}

const order = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'];
/** Children are deleted before their parents. */
const depthOf = ({ method, path }: Route) => (method === 'DELETE' ? path.split('/').length : 0);
const routes = [...allRoutes].sort(
  (a, b) => order.indexOf(a.method) - order.indexOf(b.method) || depthOf(b) - depthOf(a),
);

describe('every operation', () => {
  it('answers the smallest valid request with success, as its schema says', async () => {
    const missed: string[] = [];
    for (const route of routes) {
      if (route.operationId in elsewhere || route.isBodyRaw) continue;
      const { status, problem, told } = await sendPlanned(account, {
        route,
        body: route.documentedBody || route.body ? {} : undefined,
        query: queryOf(route),
        wrong: undefined,
        turn: 0,
        // Newly created objects have no dependents; only triggers belong to older objects.
        pathValues: route.method === 'DELETE' && !route.path.startsWith('/v1/triggers') ? 'last' : 'first',
        nonsense: [],
      });
      if (problem !== undefined || status !== route.success.statusCode) {
        missed.push(`${route.operationId}: ${problem ?? told}`);
      }
    }
    expect(missed).toEqual([]);
  });

  // `npm run bench -- api` sends any number of requests.
  it('answers generated requests as the schemas say, and none with 5xx', async () => {
    await fc.assert(
      fc.asyncProperty(plannedRequests, async (plan) => {
        const { problem } = await sendPlanned(account, plan);
        expect(problem).toBeUndefined();
      }),
      // By day the same requests each time: new findings belong to the nightly run.
      { numRuns: isNight ? 600 : 120, endOnFailure: true, ...(isNight ? {} : { seed: 20_261_127 }) },
    );
  }, 120_000);
});

it('returns every naughty text unchanged, or refuses it by name', async () => {
  expect(naughtyTexts.length).toBeGreaterThan(515);
  // Generated requests of the test above may have deleted objects of the account.
  const own = await openHarness();
  onTestFinished(() => own.close());
  const account = await inhabit(own);
  const wrong: (string | undefined)[] = [];
  for (const [index, text] of sampleOf(naughtyTexts, 60).entries()) {
    const field = textFields[index % textFields.length];
    if (field) wrong.push(await writeText(account, field, text));
  }
  expect(wrong.filter((problem) => problem !== undefined)).toEqual([]);
}, 300_000);
