import semver from 'semver';
import { packageVersion } from '../../../lib/version.ts';

/** Whether an agent's major version is below this build's. */
export function isOutdated(agentVersion: string): boolean {
  const parsed = semver.parse(agentVersion);
  return parsed === null || parsed.major < semver.major(packageVersion());
}
