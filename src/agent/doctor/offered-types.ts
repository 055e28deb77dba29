import type { CheckType } from '../../checks/contract/check-type.ts';
import { checkTypes } from '../../checks/index.ts';
import { readRuntimes } from '../../sandbox/runtimes/runtimes.ts';
import type { AgentSettings } from '../config.ts';

/**
 * The check types that an agent with these settings would try to offer; types without a runner are not run by
 * agents.
 */
export function chosenTypes(settings: AgentSettings): readonly CheckType[] {
  return checkTypes.filter(({ name, load }) => load !== undefined && settings.checkTypes.includes(name));
}

/**
 * Why no script can be run whatever the host is like, or undefined: CHECK_TYPES names none that needs it, or
 * this build has no runtimes (an image for probes alone).
 */
export async function whyNoScripts(settings: AgentSettings): Promise<string | undefined> {
  if (!chosenTypes(settings).some(({ lane }) => lane === 'script'))
    return 'CHECK_TYPES names no script checks';
  const { runtimesDirectory } = settings.scripts;
  if (await hasRuntimes(runtimesDirectory)) return undefined;
  return `no runtime is installed in ${runtimesDirectory}: script checks are not offered here`;
}

async function hasRuntimes(directory: string): Promise<boolean> {
  try {
    return (await readRuntimes(directory)).ids.length > 0;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw thrown;
  }
}
