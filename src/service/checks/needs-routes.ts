import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { type LocationNeed, locationNeedRoutes } from '@picket/protocol/agent/agent-examination.ts';
import { needOfText } from '../agent-presence/needed-browsers.ts';
import { withGroups } from './effective-check.ts';
import { locationsOf } from './timing/slots.ts';
import { needOf } from './warnings/warnings.ts';

/** A location with more checks has more than one agent, and a longer list is of no use. */
const maxChecks = 2000;
const maxNames = 3;

/** Routes that `picket doctor` queries to compare with the capabilities of its agent. */
export function locationNeedHandlers({ store }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(locationNeedRoutes, {
    async listLocationNeeds({ caller }) {
      return { needs: await needsAt(store, caller.account_id, caller.slug_name) };
    },
  });
}

/** Needs of the checks that run at a location, by type and runtime; needs of the most checks first. */
async function needsAt(
  repositories: Pick<Repositories, 'checks' | 'groups'>,
  accountId: string,
  slugName: string,
): Promise<LocationNeed[]> {
  const candidates = await repositories.checks.perhapsAt(accountId, slugName, maxChecks);
  const here = (await withGroups(repositories, candidates)).flatMap((check) => {
    const need = locationsOf(check.definition).includes(slugName) ? needOf(check) : undefined;
    return need ? [{ ...need, name: check.name }] : [];
  });
  const alike = Map.groupBy(here, ({ checkType, runtimeId }) => `${checkType} ${runtimeId}`);
  return [...alike.values()]
    .flatMap((checks) => {
      const [first] = checks;
      if (!first) return [];
      const checkNames = checks.slice(0, maxNames).map(({ name }) => name);
      return [
        {
          checkType: first.checkType,
          ...needOfText(first.runtimeId),
          checkCount: checks.length,
          checkNames,
        },
      ];
    })
    .sort((left, right) => right.checkCount - left.checkCount);
}
