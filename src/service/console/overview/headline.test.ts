import { expect, it } from 'vitest';
import { headline } from './headline.ts';
import type { OverviewState } from './store.ts';

function shown(counts: Partial<Record<OverviewState, number>>): string {
  const states = new Map(Object.entries(counts) as [OverviewState, number][]);
  return String(headline(states, [], 0));
}

it('says that all pass only where each has run', () => {
  expect(shown({ passed: 3, off: 1 })).toContain('headline-passed"><h1>All 3 checks pass<');
  expect(shown({ passed: 1, waiting: 2 })).toContain(
    'headline-passed"><h1>1 of 3 checks passes, none fails<',
  );
  expect(shown({ waiting: 2 })).toContain('headline-waiting"><h1>No check has run yet<');
  expect(shown({ off: 1 })).toContain('headline-waiting"><h1>Nothing is being checked yet<');
});

it('says what fails before what has not run', () => {
  expect(shown({ failed: 1, waiting: 2 })).toContain('headline-failed"><h1>1 of 3 checks is failing<');
});
