import { readNodes, readPackageManagers } from '@picket/sandbox/suites/package-managers.ts';
import type { Examination } from './examination.ts';
import { ok, skipped } from './examination.ts';
import { chosenTypes, whyNoScripts } from './offered-types.ts';

/** The versions of Node and the package managers that suites can use. */
export const suites: Examination = {
  name: 'suites',
  async examine({ settings }) {
    const obstacle = await whyNoScripts(settings);
    if (obstacle) return skipped(obstacle.text);
    if (!chosenTypes(settings).some(({ needsSuites }) => needsSuites)) {
      return skipped('CHECK_TYPES names no suites');
    }
    const { runtimesDirectory } = settings.scripts;
    const { installed } = await readPackageManagers(runtimesDirectory);
    if (!installed.some(({ manager }) => manager === 'npm')) {
      return skipped(
        `no package managers are installed in ${runtimesDirectory}: suites are not offered here`,
      );
    }
    const nodes = [
      process.versions.node,
      ...(await readNodes(runtimesDirectory)).map(({ version }) => version),
    ];
    const names = [...new Set(installed.map(({ manager }) => manager.replace(/\d$/, '')))];
    const managers = names.map((name) => {
      const own = installed.filter(({ manager }) => manager.replace(/\d$/, '') === name);
      return `${name} ${own.map(({ version }) => version).join(', ')}`;
    });
    return ok([`Node ${nodes.join(', ')}`, ...managers].join('; '));
  },
};
