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
    /** Where clients reach the API; links are relative without it. */
    readonly publicUrl: string | undefined;
    /** What one caller may ask in a minute; 0 or undefined: there are no rate limits. */
    readonly requestsPerMinute: number | undefined;
    /** Addresses of proxies whose word on where a request came from is taken. */
    readonly trustedProxies: readonly string[] | undefined;
    /** How long a client may take nothing of an answer, in milliseconds; undefined: the default. */
    readonly readerTimeoutMs: number | undefined;
  }
}
