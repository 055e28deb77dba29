import type { OverviewState } from '@picket/service/overviews/states.ts';
import { expect, it } from 'vitest';
import { headline } from './headline.ts';

function shown(counts: Partial<Record<OverviewState, number>>): string {
  const states = new Map(Object.entries(counts) as [OverviewState, number][]);
  return String(headline(states, [], 0));
}

it('shows in its first line how many checks are not measured', () => {
  const said = (counts: [OverviewState, number][]) => String(headline(new Map(counts), [], 0, 2));
  expect(said([['passed', 3]])).toContain(
    'headline-error"><h1>No target is failing; <a href="/alerts">2 checks not measured</a>',
  );
  expect(said([['failed', 1]])).toContain('<h1>1 of 1 check is failing; <a href="/alerts">2 checks not');
});

it('says that all pass only if each has run', () => {
  expect(shown({ passed: 3, off: 1 })).toContain('headline-passed"><h1>All 3 checks pass<');
  expect(shown({ passed: 1, waiting: 2 })).toContain(
    'headline-waiting"><h1>1 of 3 checks passes, none failing<',
  );
  expect(shown({ waiting: 2 })).toContain('headline-waiting"><h1>No check has run yet<');
  expect(shown({ off: 1 })).toContain('headline-waiting"><h1>No check is active yet<');
});

it('mentions failing checks before checks that have not run', () => {
  expect(shown({ failed: 1, waiting: 2 })).toContain('headline-failed"><h1>1 of 3 checks is failing<');
});
