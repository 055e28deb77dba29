import { listOf } from '../config/config.ts';
import type { Feature, RepositoriesOf } from '../feature/feature.ts';
import { StoredAnswers } from './idempotency/store.ts';
import { SpentLimits } from './shared-limits/store.ts';
import { reportUnreadable } from './unreadable-values.ts';

const repositories = { storedAnswers: StoredAnswers, spentLimits: SpentLimits };

export const http: Feature = {
  name: 'http',
  repositories,
  parts: {
    publicUrl: ({ config }) => config.PUBLIC_URL,
    requestsPerMinute: ({ config }) => config.RATE_LIMIT_PER_MINUTE,
    trustedProxies: ({ config }) => listOf(config.TRUSTED_PROXIES),
    readerTimeoutMs: () => undefined,
  },
  serve: reportUnreadable,
};

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '../feature/parts.ts' {
  interface Parts {
    /** Public address of the API; without it links are relative. */
    readonly publicUrl: string | undefined;
    /** Request limit per caller and minute; 0 or undefined: no rate limits. */
    readonly requestsPerMinute: number | undefined;
    /** Addresses of proxies trusted to report the origin of a request. */
    readonly trustedProxies: readonly string[] | undefined;
    /** How long a client may stall while receiving a response, in milliseconds; undefined: the default. */
    readonly readerTimeoutMs: number | undefined;
  }
}
