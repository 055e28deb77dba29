import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { howToInstall } from '@picket/checks/tables/browsers.ts';
import type { LocationNeed } from '@picket/protocol/agent/agent-examination.ts';
import { readRuntimes } from '@picket/sandbox/runtimes/runtimes.ts';
import type { AgentSettings } from '../config.ts';
import { type Verdict, warning } from './examination.ts';

/** Check types that an agent with these settings would try to offer; agents do not run types without a runner. */
export function chosenTypes(settings: AgentSettings): readonly CheckType[] {
  return checkTypes.filter(({ name, load }) => load !== undefined && settings.checkTypes.includes(name));
}

/** Why scripts cannot run. */
interface ScriptObstacle {
  readonly kind: 'not-chosen' | 'no-runtime';
  readonly text: string;
}

/**
 * Why scripts cannot run regardless of the host, or undefined: CHECK_TYPES contains no type that needs them, or this
 * build has no runtimes (an image for probes only).
 */
export async function whyNoScripts(settings: AgentSettings): Promise<ScriptObstacle | undefined> {
  if (!chosenTypes(settings).some(({ lane }) => lane === 'script'))
    return { kind: 'not-chosen', text: 'CHECK_TYPES names no script checks' };
  const { runtimesDirectory } = settings.scripts;
  if ((await installedRuntimes(runtimesDirectory)).length > 0) return undefined;
  const text = `no runtime is installed in ${runtimesDirectory}: script checks are not offered here`;
  return { kind: 'no-runtime', text };
}

/** Ids of the runtimes in a folder, which need not exist. */
export async function installedRuntimes(directory: string): Promise<readonly string[]> {
  try {
    return (await readRuntimes(directory)).ids;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}

/** Verdicts on checks of a location that an agent with these capabilities cannot run. */
export function unmetNeeds(
  needs: readonly LocationNeed[],
  {
    workingTypes,
    runtimeIds,
    browserNames,
  }: {
    readonly workingTypes: readonly string[];
    readonly runtimeIds: readonly string[];
    readonly browserNames: readonly string[];
  },
): Verdict[] {
  return needs.flatMap(({ checkType, runtimeId, browsers, checkCount, checkNames }) => {
    const moreCount = checkCount - checkNames.length;
    const names = [...checkNames, ...(moreCount > 0 ? [`${moreCount} more`] : [])].join(', ');
    const which = `${checkCount} ${checkCount === 1 ? 'check' : 'checks'} (${names})`;
    if (!workingTypes.includes(checkType)) {
      const detail = `${which} cannot run at this agent: the type is not offered`;
      return [warning(detail, 'See checks above, or run them at another agent of the location.', checkType)];
    }
    const absent = browsers.filter((name) => !browserNames.includes(name));
    if (absent.length > 0) {
      const detail = `${which} cannot run here: this agent has no ${absent.join(' and no ')}`;
      return [
        warning(
          detail,
          `To run ${checkCount === 1 ? 'it' : 'them'} here, ${howToInstall(absent)}.`,
          checkType,
        ),
      ];
    }
    if (runtimeId === null || runtimeIds.includes(runtimeId)) return [];
    const detail = `${which} cannot run here: the runtime ${runtimeId} is not installed`;
    const fix = `Install it (npm run runtimes:install -- ${runtimeId}), use an image that has it, or change runtimeId.`;
    return [warning(detail, fix, checkType)];
  });
}
