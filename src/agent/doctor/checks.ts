import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { modelMissing } from '@picket/checks/model/access.ts';
import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import type { ResultReport } from '@picket/protocol/agent/agent.ts';
import { browsersDirectoryOf, findOtherBrowsers } from '@picket/sandbox/browsers/other-browsers.ts';
import type { Capabilities, FinishedRun, RunOrder } from '../run/contracts.ts';
import { ProbePool } from '../runners/probe/probe-pool.ts';
import { wholeReport } from '../scrub/report-texts.ts';
import type { Examination, ExaminedAgent } from './examination.ts';
import { ok, problem, skipped, type Verdict } from './examination.ts';
import { chosenTypes, installedRuntimes, unmetNeeds } from './offered-types.ts';
import { openedScripts, proofAuthorityOf, trustedByChecks } from './scripts.ts';

/** A pool that runs checks, with its capabilities. */
interface Runner {
  readonly capabilities: Capabilities;
  run(order: RunOrder, signal: AbortSignal): Promise<FinishedRun>;
}

const timeoutMs = { probe: 10_000, script: 60_000 } as const;
const reportFix = 'Try it with picket run; if the check works there, report this.';

/**
 * Runs every check type against a local server, in the agent's own threads and sandboxes. With CA_CERTS_DIR the server
 * uses TLS, with a certificate of an authority that the checks load like those in that folder, and that no other
 * process trusts.
 */
export const runningChecks: Examination = {
  name: 'checks',
  needs: ['memory agent'],
  async examine(patient) {
    const isSecure = trustedByChecks(patient).length > 0;
    const server = isSecure
      ? createSecureServer(proofAuthorityOf(patient).server, answer)
      : createServer(answer);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    patient.resources.defer(() => closeServer(server));
    const { port } = server.address() as AddressInfo;
    const url = new URL(`${isSecure ? 'https' : 'http'}://127.0.0.1:${port}/`);
    const policy = createEgressPolicy({ ...patient.settings.egress, ownPorts: [] });
    const refusal = policy.refusal({ hostname: url.hostname, address: url.hostname, port });
    if (refusal !== undefined)
      return skipped(`checks may not connect to this host itself: ${refusal.message}`);
    const runners = await openRunners(patient);
    const verdicts = isSecure
      ? [ok('run over TLS: those that pass trust the certificates of CA_CERTS_DIR')]
      : [];
    for (const type of chosenTypes(patient.settings)) {
      patient.signal.throwIfAborted();
      verdicts.push(await tryType(type, url, runners, patient));
    }
    return verdicts;
  },
};

/** Whether this agent has what the location's checks need. */
export const locationChecks: Examination = {
  name: 'location-checks',
  needs: ['protocol', 'key'],
  async examine(patient) {
    const { findings, settings } = patient;
    const contact = await patient.contact();
    if (contact.attitude.kind !== 'known') return skipped('not examined: see protocol');
    const needs = await contact.needs();
    if (!needs) return skipped('the service is too old to report what its checks need');
    if (needs.length === 0) return ok('no check runs at this location yet');
    const tried = findings.filter(
      ({ examination, about }) => examination === runningChecks.name && about !== undefined,
    );
    if (tried.length === 0) return skipped(`not examined: see ${runningChecks.name}`);
    const workingTypes = tried.flatMap(({ status, about = '' }) => (status === 'ok' ? [about] : []));
    const runtimeIds = await installedRuntimes(settings.scripts.runtimesDirectory);
    const browsers = await findOtherBrowsers(browsersDirectoryOf(settings.scripts));
    const browserNames = browsers.map(({ name }) => name);
    const verdicts = unmetNeeds(needs, { workingTypes, runtimeIds, browserNames });
    const checkCount = needs.reduce((sum, need) => sum + need.checkCount, 0);
    return verdicts.length > 0 ? verdicts : ok(`all ${checkCount} checks of the location can run here`);
  },
};

function answer(_request: unknown, response: { end(text: string): unknown }): void {
  response.end('ok');
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function openRunners(patient: ExaminedAgent): Promise<Partial<Record<CheckType['lane'], Runner>>> {
  const { settings, resources, findings } = patient;
  const pool = new ProbePool({
    clock: systemClock,
    log: createLogger('picket-doctor', 'silent'),
    ownSecrets: [],
    serviceOffsetMs: () => systemClock.wallMs() - systemClock.monotonicMs(),
    egress: () => ({ ...settings.egress, ownPorts: [] }),
    caCertificates: () => trustedByChecks(patient),
    checkTypes: settings.checkTypes,
    threadCount: 1,
  });
  resources.defer(() => pool.stop());
  const capabilities = await pool.start();
  const probe: Runner = { capabilities, run: (order, signal) => pool.run(order, signal) };
  const canRunScripts = findings.some(
    ({ examination, status }) => examination === 'sandbox' && status === 'ok',
  );
  if (!canRunScripts) return { probe };
  const scripts = await openedScripts(patient);
  return { probe, script: { ...scripts, run: (order, signal) => scripts.pool.run(order, signal) } };
}

async function tryType(
  type: CheckType,
  url: URL,
  runners: Partial<Record<CheckType['lane'], Runner>>,
  patient: ExaminedAgent,
): Promise<Verdict> {
  if (type.needsModel && !patient.settings.model) return skipped(modelMissing, type.name);
  const runner = runners[type.lane];
  if (!runner) return skipped('not offered: see sandbox', type.name);
  const { capabilities } = runner;
  if (!capabilities.loaded.includes(type.name)) {
    const reason = capabilities.failed.find(({ name }) => name === type.name)?.reason ?? 'it did not load';
    const cause = patient.findings.find(
      ({ status, detail }) => status === 'problem' && areAlike(reason, detail),
    );
    if (cause) return skipped(`not offered: see ${cause.examination}`, type.name);
    return problem(
      `not offered: ${reason}`,
      'Fix the problem above; other check types stay available.',
      type.name,
    );
  }
  if (!type.selfTest) return ok('loaded', type.name);
  const finished = await runner.run(orderFor(type, url), patient.signal);
  const result = JSON.parse(wholeReport(finished.report)) as ResultReport;
  if (result.failure) {
    return problem(`${result.failure.code}: ${result.failure.message}`, reportFix, type.name);
  }
  const how = capabilities.backends[type.name];
  const ms = Math.round(result.responseTimeMs);
  return ok(`works${how === undefined ? '' : ` (${how})`}, ${ms} ms`, type.name);
}

/** Whether two texts are alike: one starts with the beginning of the other. */
function areAlike(left: string, right: string): boolean {
  const beginning = (text: string) => text.slice(0, 40);
  return left.startsWith(beginning(right)) || right.startsWith(beginning(left));
}

function orderFor(type: CheckType, url: URL): RunOrder {
  return {
    runId: crypto.randomUUID(),
    leaseNumber: 1,
    resultId: crypto.randomUUID(),
    checkType: type.name,
    spec: type.selfTest?.(url) ?? {},
    input: { variables: {}, secretNames: [], proxyUrl: null, clientCertificates: [] },
    receivedAtMs: systemClock.monotonicMs(),
    timeoutMs: timeoutMs[type.lane],
  };
}
