import { systemClock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import { authorities, trustedKeys } from './authorities.ts';
import { locationChecks, runningChecks } from './checks.ts';
import { disk } from './disk.ts';
import { environment, readExaminedSettings } from './environment.ts';
import type { Examination, ExaminedAgent } from './examination.ts';
import { type Finding, problem, skipped, type Verdict } from './examination.ts';
import { descriptors, healthPort, memory, sharedMemory } from './host.ts';
import { locationSettings } from './location/location-settings.ts';
import { model } from './model.ts';
import { dns, proxy, tcp, tls } from './network.ts';
import { capture, egress, icmp, kerberos } from './probing.ts';
import { browser, sandbox, suites } from './scripts.ts';
import { secrets } from './secrets/secrets.ts';
import { clock, key, protocol, serviceAnalytics, serviceStorage, upload } from './service.ts';
import { contactService, type ServiceContact } from './service-contact.ts';

/** In an order in which earlier findings explain later ones. */
export const examinations: readonly Examination[] = [
  environment,
  trustedKeys,
  authorities,
  disk,
  healthPort,
  descriptors,
  memory,
  dns,
  tcp,
  proxy,
  tls,
  protocol,
  key,
  locationSettings,
  clock,
  upload,
  serviceStorage,
  serviceAnalytics,
  secrets,
  egress,
  icmp,
  capture,
  kerberos,
  sandbox,
  browser,
  suites,
  sharedMemory,
  model,
  runningChecks,
  locationChecks,
];

/**
 * Examines everything that an agent with this environment needs, step by step, with the agent's own code. Skips
 * examinations that could only fail because of an earlier finding. Leaves only the agent's folders in SCRIPTS_DIR
 * behind.
 *
 * @param listener notified when an examination begins, and of each finding.
 * @param signal ends the run early: remaining examinations are `skipped`.
 */
export async function examineAgent(
  variables: Readonly<Record<string, string | undefined>>,
  listener: { onBegin(examination: string): void; onFinding(finding: Finding): void },
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const resources = new AsyncDisposableStack();
  const findings: Finding[] = [];
  let contact: Promise<ServiceContact> | undefined;
  const read = readExaminedSettings(variables);
  const patient: ExaminedAgent = {
    environment: variables,
    ...read,
    signal,
    resources,
    findings,
    caCertificates: [],
    contact: () => {
      contact ??= contactService(read.settings, { clock: systemClock, signal, resources });
      return contact;
    },
  };
  try {
    for (const examination of examinations) {
      const { name } = examination;
      listener.onBegin(name);
      for (const verdict of await examineOne(examination, patient)) {
        const finding = { examination: name, ...verdict };
        findings.push(finding);
        listener.onFinding(finding);
      }
    }
  } finally {
    await resources.disposeAsync();
  }
  return findings;
}

async function examineOne(examination: Examination, patient: ExaminedAgent): Promise<readonly Verdict[]> {
  const { signal } = patient;
  if (signal.aborted) return [skipped('interrupted')];
  const missing = (examination.needs ?? []).find((need) => isMissing(need, patient.findings));
  if (missing !== undefined) return [skipped(`not examined: see ${missing}`)];
  try {
    const found = await examination.examine(patient);
    if (signal.aborted) return [skipped('interrupted')];
    return 'status' in found ? [found] : found;
  } catch (thrown) {
    if (signal.aborted) return [skipped('interrupted')];
    const { message } = toError(thrown);
    return [problem(`the examination failed: ${message}`, 'Report it with the output of --json.')];
  }
}

/** Whether a prerequisite failed or was not examined. */
function isMissing(need: string, findings: readonly Finding[]): boolean {
  const [name, about] = need.split(' ');
  const relevant = findings.filter(
    (finding) => finding.examination === name && (about === undefined || finding.about === about),
  );
  const isBad = relevant.some(({ status }) => status === 'problem');
  return isBad || (relevant.length > 0 && relevant.every(({ status }) => status === 'skipped'));
}
