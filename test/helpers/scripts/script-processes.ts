import { readFileSync } from 'node:fs';
import { processesWhere } from '../../system/sandbox/processes.ts';

/** Processes of an agent's sandboxes, by their HOME: other tests run scripts on this machine at the same time. */
export function scriptProcessesIn(folder: string) {
  const processesWith = (text: string) =>
    processesWhere((_status, pid) => cmdline(pid).includes(text) && homeOf(pid).includes(folder));
  const scripts = () => processesWith('program/run/launch.cjs');
  /** The browser itself: its child processes overwrite their environment with their title. */
  const browsers = () => processesWith('/.picket/browsers/');
  return {
    scripts,
    browsers,
    /** Browsers whose script has ended; that of a waiting process is none of them. */
    leftBrowsers: () => {
      const left = browsers();
      const homes = scripts().map(homeOf);
      return left.filter((pid) => !homes.includes(homeOf(pid)));
    },
  };
}

function cmdline(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
}

/** Empty if the process has none, or has ended. */
function homeOf(pid: number): string {
  try {
    return /(?:^|\0)HOME=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'latin1'))?.[1] ?? '';
  } catch {
    return '';
  }
}
