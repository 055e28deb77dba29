import { weakReason, weakSecretText } from '@picket/lib/bounds/maskable.ts';
import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import { ownSecretsOf } from '../../own-secrets.ts';
import { referencePrefix } from '../../references/reference.ts';
import { type RunSecrets, SecretReferences } from '../../references/secret-references.ts';
import { Scrubber } from '../../scrub/scrubber.ts';
import type { Examination, ExaminedAgent } from '../examination.ts';
import { ok, problem, skipped, type Verdict, warning } from '../examination.ts';

/** Fix for each reason. */
const fixes = {
  NOT_DECLARED: 'Upgrade the agent.',
  NOT_FOUND: 'Correct the place, or create the secret there.',
  DENIED: 'Allow the agent to read it: its user, its policy or role, or its credential.',
  UNREACHABLE: 'Correct the address of the provider, or open the network between the agent and it.',
  TIMED_OUT: 'Look at the provider: a fetch may take 10 seconds.',
  TOO_LARGE: 'Name a field: a secret may have at most 128 KiB, and what holds it 1 MiB.',
  UNUSABLE: 'Look at the content of the place: it must be the secret, or a JSON object with the field.',
  FAILED: 'Look at the provider, or run the command yourself.',
} as const;

/** Whether each secret that is declared by reference can be read. Its value is not shown. */
export const secrets: Examination = {
  name: 'secrets',
  async examine(patient): Promise<Verdict | readonly Verdict[]> {
    const { references } = patient.settings.references;
    if (references.length === 0) return skipped(`no ${referencePrefix}… is set`);
    const { values, unavailable } = await readOnce(patient);
    return references.map(({ name, provider, place }) => {
      const about = `${referencePrefix}${name.slice('SERVICE_SECRET_'.length)}`;
      const failed = unavailable.find((one) => one.name === name);
      if (failed) {
        const { reason, message } = failed.problem;
        return problem(`${provider}: ${message}`, fixes[reason], about);
      }
      const reason = weakReason(values[name] ?? '');
      if (reason !== undefined) {
        return warning(weakSecretText(name, reason), 'Set a longer value where it is stored.', about);
      }
      // A command may hold a secret among its arguments.
      const where = provider === 'exec' ? '' : ` at ${place}`;
      return ok(`read from ${provider}${where}, used in checks as {{${name}}}`, about);
    });
  },
};

async function readOnce({ settings, signal }: ExaminedAgent): Promise<RunSecrets> {
  const read = new SecretReferences({
    access: settings.references,
    clock: systemClock,
    epochMs: () => systemClock.wallMs(),
    log: createLogger('picket-doctor', 'silent'),
    scrubber: new Scrubber(ownSecretsOf(settings)),
  });
  const stop = Promise.withResolvers<never>();
  const onAbort = () => stop.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([read.current(), stop.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    await read[Symbol.asyncDispose]();
  }
}
