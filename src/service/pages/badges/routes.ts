import { AppError } from '@picket/lib/errors.ts';
import { durationText } from '@picket/lib/figures/duration.ts';
import { askedInPublic } from '@picket/lib/turns/asker.ts';
import { type AnyHandler, handlersById } from '@picket/platform/feature/handler.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { isMeasured, worstOf } from '@picket/protocol/checks/check-state.ts';
import { badgeRoutes } from '@picket/protocol/pages/badge.ts';
import type { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { addedCoverage, coverageText } from '@picket/protocol/runs/coverage.ts';
import { windowCoverage } from '../../coverage/coverage-query.ts';
import type { AnalyticsDeps } from '../../results/analytics/routes.ts';
import { hasSlots, matchesTags } from '../../results/reports/check-report.ts';
import type { ReportedCheck } from '../../results/reports/store.ts';
import { namedWindow } from '../../results/reports/window.ts';
import { etagOf, isKnown } from '../answers/shared-answer.ts';
import { optionsOf } from '../dashboards/routes.ts';
import { isBlind } from '../measured-now.ts';
import { PageSnapshots } from '../page-snapshots.ts';
import { statusPageData } from '../status-page-data.ts';
import { type Badge, badgeImage } from './badge-image.ts';

/**
 * Routes of badges. A badge is an image embedded in another page, so no key can be sent for it, and it may only show
 * what is already public: checks that a public dashboard of the account shows. With a key of the account any badge is
 * available.
 */
export function badgeHandlers({
  store,
  clock,
  analytics,
}: Pick<AnalyticsDeps, 'store' | 'clock' | 'analytics'>): [string, AnyHandler][] {
  const snapshots = new PageSnapshots(clock);
  const mayBeSeen = async (
    accountId: string,
    checks: readonly ReportedCheck[],
    caller: AccountCaller | null,
  ): Promise<boolean> => {
    if (caller) return caller.accountId === accountId;
    if (checks.length === 0) return false;
    const dashboards = (await store.dashboards.listPublic(accountId)).map(optionsOf);
    return checks.every(
      (check) =>
        check.isActivated &&
        dashboards.some((options) =>
          matchesTags(check.tags, { wanted: options.tags, needsAll: options.useTagsAndOperator ?? false }),
        ),
    );
  };
  const draw = async (
    label: string,
    checks: readonly ReportedCheck[],
    { style, theme, responseTime }: Pick<Badge, 'style' | 'theme'> & { readonly responseTime: boolean },
  ) => {
    const active = checks.filter(({ isActivated }) => isActivated);
    const ids = active.map(({ id }) => id);
    const coverage = await windowCoverage(analytics, ids, namedWindow('last24Hrs', clock.wallMs()));
    const standing = await store.states.of(active[0]?.accountId ?? '', ids, clock.wallMs());
    const state = worstOf([...standing.values()].map((one) => one.state));
    const scheduled = active.filter(hasSlots).map(({ id }) => coverage(id));
    // Known results are shown together with their coverage.
    const added = scheduled.length === 0 ? null : addedCoverage(scheduled);
    // A state from an on-demand run says nothing about a schedule without any due slot yet.
    const measured = added === null || added.due === 0 ? null : coverageText(added);
    const word = active.length === 0 ? 'inactive' : state.replace('-', ' ');
    const averageMs = responseTime ? await averageOf(active) : null;
    const message = [
      word,
      averageMs === null ? null : durationText(averageMs),
      isMeasured(state) ? measured : null,
    ]
      .filter((part) => part !== null)
      .join(' ');
    return badgeImage({ label, message, state, style, theme });
  };
  /** With several checks, each run has the same weight. */
  const averageOf = async (checks: readonly ReportedCheck[]): Promise<number | null> => {
    const aggregates = await analytics.report(checks, namedWindow('last24Hrs', clock.wallMs()));
    const measured = [...aggregates.values()].flatMap(({ averageMs, runCount }) =>
      averageMs === null ? [] : [{ averageMs, runCount }],
    );
    const runs = measured.reduce((sum, { runCount }) => sum + runCount, 0);
    if (runs === 0) return null;
    return measured.reduce((sum, { averageMs, runCount }) => sum + averageMs * runCount, 0) / runs;
  };
  return handlersById(badgeRoutes, {
    async getCheckBadge({ caller, params, query, request, reply }) {
      const check = await store.reports.check(params.id);
      if (!check || !(await mayBeSeen(check.accountId, [check], caller))) throw notFound('check', params.id);
      const drawn = await askedInPublic(check.accountId, () => draw(check.name, [check], query));
      return named({ request, reply }, drawn);
    },
    async getGroupBadge({ caller, params, query, request, reply }) {
      const group = (await store.groups.findMany([params.id])).get(params.id);
      if (!group) throw notFound('group', params.id);
      const checks = await store.reports.checksOfGroup(group.accountId, group.id);
      if (!(await mayBeSeen(group.accountId, checks, caller))) throw notFound('group', params.id);
      const name = String(group.definition.name ?? 'group');
      const drawn = await askedInPublic(group.accountId, () => draw(name, checks, query));
      return named({ request, reply }, drawn);
    },
    async getStatusPageBadge({ params, query, request, reply }) {
      const page = await store.statusPages.findByAddress(params.address.toLowerCase());
      if (!page || page.is_private === 1) {
        throw new AppError('NOT_FOUND', 'There is no status page at this address, or it is private.');
      }
      const data = await snapshots.get(
        page.id,
        () => askedInPublic(page.account_id, () => statusPageData(store, analytics, page, clock.wallMs())),
        () => true,
      );
      return named({ request, reply }, badgeImage({ label: page.name, ...pageWords(data), ...query }));
    },
  });
}

/** State of a page in a word or two. Parts that are not measured are not shown as operational. */
function pageWords({ state, cards, components }: StatusPageData): Pick<Badge, 'message' | 'state'> {
  if (state === 'OPERATIONAL') {
    return [...cards.flatMap(({ services }) => services), ...components].some(isBlind)
      ? { message: 'no known incident', state: 'not-measured' }
      : { message: 'operational', state: 'passing' };
  }
  const isBad = state === 'MAJOR' || state === 'CRITICAL';
  return { message: `${state.toLowerCase()} problem`, state: isBad ? 'failing' : 'degraded' };
}

/** Pages embed badges through their own caches; a state must not be older than this there. */
const freshness = 'max-age=60';

/** Returns a badge, or sends a 304 if the client already has it. */
async function named(asked: Parameters<typeof isKnown>[0], badge: string): Promise<string> {
  asked.reply.header('cache-control', freshness);
  await isKnown(asked, etagOf(badge));
  return badge;
}

function notFound(what: string, id: string | number): AppError {
  return new AppError('NOT_FOUND', `There is no ${what} ${id}, or no public dashboard shows it.`);
}
