import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { CheckSessions } from './stored/check-session-store.ts';
import { TestDefinitions } from './stored/definition-store.ts';
import { TestSessions } from './stored/test-session-store.ts';
import { Triggers } from './triggers/store.ts';

export const sessions = defineFeature({
  name: 'sessions',
  repositories: {
    checkSessions: CheckSessions,
    testSessions: TestSessions,
    testDefinitions: TestDefinitions,
    triggers: Triggers,
  },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof sessions> {}
}
