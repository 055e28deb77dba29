import { listOf } from '@picket/platform/config/config.ts';
import type { Feature } from '@picket/platform/feature/feature.ts';
import { isElsewhere } from './artifacts/origin.ts';
import { addConsole } from './console.ts';
import { buildConcurrencyGate } from './public/concurrency-gate.ts';

/** The pages for browsers: a client of the other features' operations, without storage of its own. */
export const webConsole: Feature = {
  name: 'console',
  waitingServer: async ({ config, artifactStore, clock, logger }) =>
    config.PAGES === 'on'
      ? buildConcurrencyGate({
          ...{ artifactStore, clock, logger },
          publicUrl: config.PUBLIC_URL,
          artifactsUrl: config.ARTIFACTS_URL,
          trustedProxies: listOf(config.TRUSTED_PROXIES),
        })
      : undefined,
  refuses: ({ hasPages, artifactsUrl }) =>
    hasPages && artifactsUrl !== undefined ? isElsewhere(artifactsUrl) : undefined,
  serve: async (app, parts, handlers) => {
    if (parts.hasPages) await addConsole(app, { ...parts, handlers });
  },
};
