import type { Page } from '../page.ts';
import { cancelCheckRuns, showCheckSession } from './check-session.ts';
import { listSessions, runNow } from './list.ts';
import { showTestResult } from './test-result.ts';
import { cancelTestRuns, linkedTestSession, showTestSession } from './test-session.ts';

export const sessionPages: readonly Page[] = [
  {
    path: '/sessions',
    title: 'Sessions',
    navigation: { word: 'Sessions', icon: 'play' },
    role: 'READ_ONLY',
    handler: (call) => listSessions(call),
  },
  { method: 'POST', path: '/sessions', title: 'Run checks', role: 'READ_RUN', handler: runNow },
  { path: '/sessions/checks/:id', title: 'Check session', role: 'READ_ONLY', handler: showCheckSession },
  {
    method: 'POST',
    path: '/sessions/checks/:id/cancel',
    title: 'Cancel a session',
    role: 'READ_RUN',
    handler: cancelCheckRuns,
  },
  { path: '/sessions/tests/:id', title: 'Test session', role: 'READ_ONLY', handler: showTestSession },
  {
    path: '/accounts/:account/test-sessions/:id',
    title: 'Test session',
    role: 'READ_ONLY',
    handler: linkedTestSession,
  },
  {
    path: '/sessions/tests/:id/results/:resultId',
    title: 'Result of a test session',
    role: 'READ_ONLY',
    handler: showTestResult,
  },
  {
    method: 'POST',
    path: '/sessions/tests/:id/cancel',
    title: 'Cancel a session',
    role: 'READ_RUN',
    handler: cancelTestRuns,
  },
];
