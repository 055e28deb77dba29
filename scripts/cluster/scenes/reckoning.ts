import type { Stage } from './stage.ts';

/** Whether anything was lost or done twice, in all of the above. */
export async function reckoning({ log, service }: Stage): Promise<void> {
  log.heading('The reckoning');
  const { violations, requests, rows } = await service.judge();
  log.expect('the judge of the fault campaigns finds nothing', violations.length === 0);
  for (const { code, text } of violations.slice(0, 10)) log.note(`${code}: ${text}`);
  const load = service.checks.filter(({ path }) => path.startsWith('/load/') || path === '/slow');
  const ids = new Set(load.map(({ id }) => id));
  const runs = rows.runs.filter(({ checkId }) => ids.has(checkId));
  const results = rows.results.filter(({ checkId }) => ids.has(checkId));
  const asked = load.reduce((sum, { path }) => sum + (requests.get(path) ?? 0), 0);
  const others = runs.filter(({ state }) => state !== 'final');
  // The last one of a check may be cancelled by switching the check off.
  const lost = others.filter(({ state }) => state !== 'cancelled');
  log.expect(
    'every run while pods were deleted and replaced has its result',
    lost.length === 0,
    [
      `${runs.length} runs, ${results.length} results, ${others.length - lost.length} cancelled`,
      ...lost.map(({ state, reason }) => `${state} ${reason}`),
    ].join(', '),
  );
  log.expect(
    'no result is there twice, none was fenced off',
    new Set(results.map(({ runId }) => runId)).size === results.length && rows.stale.length === 0,
  );
  log.expect(
    'the target was asked once for each of them',
    asked === results.length,
    `${asked} requests for ${results.length} results`,
  );
  const again = runs.filter(({ leaseNumber }) => leaseNumber > 1);
  log.note(`${again.length} of ${runs.length} runs were given back before they began, and leased again`);
  const failed = results.filter(({ hasFailures, hasErrors }) => hasFailures === 1 || hasErrors === 1);
  log.expect('all passed', failed.length === 0, failed[0]?.message ?? '');
}
