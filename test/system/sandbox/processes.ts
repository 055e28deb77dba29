import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Ids of live processes that match a test; zombies don't count. */
export function processesWhere(test: (status: string, pid: number) => boolean): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'latin1');
        return !/^State:\s+[ZX]/m.test(status) && test(status, pid);
      } catch {
        return false; // it ended meanwhile
      }
    });
}

export const processesOfUid = (uid: number) =>
  processesWhere((status) => new RegExp(`^Uid:\\s+${uid}\\s`, 'm').test(status));

/** The id of the supervisor that an agent has started. */
export function supervisorPidOf(agentPid: number): number | undefined {
  return processesWhere((status, pid) => {
    const isChild = new RegExp(`^PPid:\\s+${agentPid}$`, 'm').test(status);
    return isChild && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('supervisor-main');
  })[0];
}

export function ownerOf(path: string): number {
  return statSync(path).uid;
}

/** Ends a process with SIGKILL; false if it has ended before. */
export function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
