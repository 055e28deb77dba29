import { api, changed, toApi } from '../../helpers/analyses/fault-stage.ts';
import type { SeededFault } from '../../helpers/analyses/real-runs.ts';

const digest = { auth: { type: 'DIGEST', username: 'ada', password: 'lovelace' } };
const asks = (challenge: string) =>
  changed({ status: 401, headers: { 'www-authenticate': challenge } }, () => api(toApi(digest)));

/** Faults of logins that answer a challenge; agents before 8.0 have none. */
export const loginFaults: readonly SeededFault[] = [
  {
    name: 'a login that is refused since',
    code: 'STATUS_UNEXPECTED',
    evidence: () => asks('Digest realm="r", nonce="n", qop="auth"'),
    ...{
      cause: /does not accept the credentials.*did before/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'LIKELY',
    },
  },
  {
    name: 'a login by another scheme',
    code: 'STATUS_UNEXPECTED',
    evidence: () => asks('NTLM'),
    ...{
      cause: /not by a login that the check can do.*does not offer Digest, but NTLM/,
      classification: 'CONFIGURATION_ERROR',
      certainty: 'CERTAIN',
    },
  },
];
