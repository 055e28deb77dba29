import { systemClock } from '@picket/lib/clock.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, type Verdict, warning } from './examination.ts';

const dayMs = 86_400_000;
const soonDays = 14;
const newKey =
  'Make a key with "picket keys new", add its public key to TRUSTED_KEYS, and sign the checks with it.';

/** The keys whose signed checks the agent runs, and how long it accepts them. */
export const trustedKeys: Examination = {
  name: 'trusted-keys',
  async examine({ settings }) {
    const keys = settings.trustedKeys;
    if (keys.length === 0)
      return skipped('TRUSTED_KEYS is not set: the agent runs signed and unsigned checks');
    const now = systemClock.wallMs();
    return keys.map(({ id, notAfter }): Verdict => {
      if (notAfter === null) return ok('the agent runs only signed checks; the key has no last day', id);
      const lastDay = new Date(notAfter - dayMs).toISOString().slice(0, 10);
      if (now >= notAfter) {
        const detail = `the last day of the key was ${lastDay}: the agent refuses all checks that it signed`;
        return problem(detail, newKey, id);
      }
      const detail = `the agent runs only signed checks; the last day of the key is ${lastDay}`;
      return notAfter - now < soonDays * dayMs ? warning(detail, newKey, id) : ok(detail, id);
    });
  },
};
