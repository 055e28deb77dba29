import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Numbers of live processes for which a test holds; dead ones that nobody has waited for don't count. */
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

/** The supervisor that an agent has started. */
export function supervisorPidOf(agentPid: number): number | undefined {
  return processesWhere((status, pid) => {
    const isChild = new RegExp(`^PPid:\\s+${agentPid}$`, 'm').test(status);
    return isChild && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('supervisor-main');
  })[0];
}

export function ownerOf(path: string): number {
  return statSync(path).uid;
}
