import { toError } from '@picket/lib/errors.ts';
import { packageVersion } from '@picket/lib/version.ts';
import { ServiceError } from '../client/service-error.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, type Verdict, warning } from './examination.ts';

/** Whether the server is a Picket service that this agent can work with. */
export const protocol: Examination = {
  name: 'protocol',
  needs: ['dns', 'tcp', 'proxy', 'tls'],
  async examine(patient) {
    const { attitude } = await patient.contact();
    const own = packageVersion();
    switch (attitude.kind) {
      case 'known':
        if (attitude.answer.isOutdated) {
          const detail = `the service (${attitude.answer.version}) considers this agent (${own}) too old`;
          return problem(detail, `Upgrade the agent to version ${attitude.answer.version}.`);
        }
        return ok(`service ${attitude.answer.version}, agent ${own}`);
      case 'older': {
        const detail = `the service is older than this agent (${own}): it does not support the whole protocol of the agent`;
        return problem(
          detail,
          `Upgrade the service to version ${own} or later; agents may be older, not newer.`,
        );
      }
      case 'refused':
        return ok('the service answers');
      case 'stranger':
        return problem(
          `the server is not a Picket service (${attitude.error.message})`,
          'Correct SERVICE_URL; a path in front of /v1 belongs to it.',
        );
      case 'silent':
        return silence(attitude.error);
    }
  },
};

function silence(error: ServiceError): Verdict {
  if (error.httpStatus !== undefined && error.httpStatus >= 500) {
    return problem(error.message, 'The service, or a proxy in front of it, has a problem: check its logs.');
  }
  return problem(
    error.message,
    'Correct SERVICE_URL if a different server responds; otherwise check the service.',
  );
}

/** The key of the location. */
export const key: Examination = {
  name: 'key',
  needs: ['tcp', 'tls'],
  async examine(patient) {
    if (!patient.hasKey) return skipped('no key is configured: see environment');
    const { attitude } = await patient.contact();
    switch (attitude.kind) {
      case 'known': {
        const { name, slugName } = attitude.answer.location;
        return ok(`belongs to the private location ${name} (${slugName})`);
      }
      case 'older':
        return ok('accepted');
      case 'refused':
        return problem(
          `the service refuses the key (${attitude.error.httpStatus ?? 'no status'}): unknown, mistyped or revoked`,
          'Set API_KEY to a key of the private location that is active at this service.',
        );
      default:
        return skipped('not examined: see protocol');
    }
  },
};

const slightSkewMs = 5000;
const gravestSkewMs = 30_000;

/** This host's clock against the service's. */
export const clock: Examination = {
  name: 'clock',
  needs: ['tcp', 'tls', 'key'],
  async examine(patient) {
    const { serviceClock } = await patient.contact();
    if (!Number.isFinite(serviceClock.errorMs)) return skipped('the service did not report its time');
    const skewMs = serviceClock.wallSkewMs;
    const surelyMs = Math.max(0, Math.abs(skewMs) - serviceClock.errorMs);
    const direction = skewMs > 0 ? 'ahead of' : 'behind';
    const detail = `${durationText(Math.abs(skewMs))} ${direction} the service's`;
    const fix =
      'Synchronise the clock of the host (chrony, systemd-timesyncd); results still have correct times, but certificates and scripts do not.';
    if (surelyMs > gravestSkewMs) return problem(detail, fix);
    return surelyMs > slightSkewMs ? warning(detail, fix) : ok(detail);
  },
};

function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const uploadBytes = 1024 * 1024;

/** Uploads a body of some size in one piece, as artifacts are. */
export const upload: Examination = {
  name: 'upload',
  needs: ['protocol', 'key'],
  async examine(patient) {
    const { upload: send, attitude } = await patient.contact();
    if (attitude.kind !== 'known') return skipped('not examined: see protocol');
    try {
      const { receivedBytes, elapsedMs } = await send(uploadBytes);
      if (receivedBytes === uploadBytes) {
        return ok(
          `1 MB in ${Math.round(elapsedMs)} ms (${(uploadBytes / 1000 / elapsedMs).toFixed(1)} MB/s)`,
        );
      }
      const detail = `of ${uploadBytes} bytes ${receivedBytes} arrived`;
      return problem(detail, 'A proxy on the path changes bodies: configure it to pass them unchanged.');
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      return problem(uploadTrouble(thrown), uploadFix(thrown));
    }
  },
};

/** Whether the service can store the data that agents send. */
export const serviceStorage: Examination = {
  name: 'service-storage',
  needs: ['protocol', 'key'],
  async examine(patient) {
    const { attitude } = await patient.contact();
    if (attitude.kind !== 'known') return skipped('not examined: see protocol');
    const { storageProblem: trouble } = attitude.answer;
    if (trouble === undefined) return skipped('the service is too old for this examination');
    if (trouble === null) return ok('the service stores results');
    return problem(
      `the service stores nothing: ${trouble}`,
      'Fix it at the service. Until then, agents keep their results and files, and send them afterwards.',
    );
  },
};

/** Whether the service can answer queries over many results. */
export const serviceAnalytics: Examination = {
  name: 'service-analytics',
  needs: ['protocol', 'key'],
  async examine(patient) {
    const { attitude } = await patient.contact();
    if (attitude.kind !== 'known') return skipped('not examined: see protocol');
    const { analyticsProblem: trouble } = attitude.answer;
    if (trouble === undefined) return skipped('the service is too old for this examination');
    if (trouble === null) return ok('the service provides reports and charts');
    return warning(
      `the service provides no reports and charts: ${trouble}`,
      'Fix it at the service. Checks and alerts continue.',
    );
  },
};

function uploadTrouble(error: ServiceError): string {
  return error.httpStatus === 413
    ? 'a body of 1 MB is refused as too large (413), though the service takes 150 MB'
    : toError(error).message;
}

function uploadFix({ httpStatus }: ServiceError): string {
  return httpStatus === 413
    ? 'Raise the limit of the proxy in front of the service to 150 MB (nginx: client_max_body_size 150m).'
    : 'Small requests pass, large ones do not: check proxies, firewalls and the MTU between agent and service.';
}
