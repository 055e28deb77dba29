import type { IncomingMessage } from 'node:http';
import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { definitionRunRoutes } from '@picket/protocol/sessions/definition-run.ts';
import { followedSessionRoutes } from '@picket/protocol/sessions/followed-session.ts';
import { testSessionRoutes } from '@picket/protocol/sessions/test-session.ts';
import { triggerRoutes } from '@picket/protocol/sessions/trigger.ts';
import { sessionHandlers } from './routes.ts';
import { Sessions } from './sessions.ts';
import { CheckSessions } from './stored/check-session-store.ts';
import { TestDefinitions } from './stored/definition-store.ts';
import { TestSessions } from './stored/test-session-store.ts';
import { triggerHandlers } from './triggers/routes.ts';
import { Triggers } from './triggers/store.ts';

/** Whether a request is an upgrade to a connection for live results. */
function isForLiveResults({ headers, url = '' }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && /^\/(?:mqtt\/?)?(?:\?|$)/.test(url);
}

const repositories = {
  checkSessions: CheckSessions,
  testSessions: TestSessions,
  testDefinitions: TestDefinitions,
  triggers: Triggers,
};

export const sessions: Feature = {
  name: 'sessions',
  repositories,
  parts: {
    runAfterCause: (parts) => {
      const sessions = new Sessions(parts);
      return (accountId, checkIds) =>
        sessions.startChecks(accountId, { checkIds }, { runSource: 'ALERT_CAUSE' });
    },
  },
  routes: [
    ...Object.values(checkSessionRoutes),
    ...Object.values(definitionRunRoutes),
    ...Object.values(followedSessionRoutes),
    ...Object.values(testSessionRoutes),
    ...Object.values(triggerRoutes),
  ],
  handlers: (parts) => [...sessionHandlers(parts), ...triggerHandlers(parts)],
  serve: async (app, parts) => {
    const { addLiveResults } = await import('@picket/live-mqtt/live-results.ts');
    addLiveResults(app, parts);
  },
  upgrades: isForLiveResults,
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Runs checks again when the cause of their failures may be gone. */
    readonly runAfterCause: (
      accountId: string,
      checkIds: readonly string[],
    ) => ReturnType<Sessions['startChecks']>;
  }
}
