import type { Feature, RepositoriesOf } from '../../platform/feature/feature.ts';
import { checkSessionRoutes } from '../../protocol/sessions/check-session.ts';
import { definitionRunRoutes } from '../../protocol/sessions/definition-run.ts';
import { followedSessionRoutes } from '../../protocol/sessions/followed-session.ts';
import { testSessionRoutes } from '../../protocol/sessions/test-session.ts';
import { triggerRoutes } from '../../protocol/sessions/trigger.ts';
import { addLiveResults, isForLiveResults } from './live/live-results.ts';
import { sessionHandlers } from './routes.ts';
import { Sessions } from './sessions.ts';
import { CheckSessions } from './stored/check-session-store.ts';
import { TestDefinitions } from './stored/definition-store.ts';
import { TestSessions } from './stored/test-session-store.ts';
import { triggerHandlers } from './triggers/routes.ts';
import { Triggers } from './triggers/store.ts';

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
  serve: addLiveResults,
  upgrades: isForLiveResults,
};

declare module '../../platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '../../platform/feature/parts.ts' {
  interface Parts {
    /** Runs checks once more when the cause of their failures may be gone. */
    readonly runAfterCause: (
      accountId: string,
      checkIds: readonly string[],
    ) => ReturnType<Sessions['startChecks']>;
  }
}
