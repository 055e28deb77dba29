import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from './api-client.ts';
import { startStarvingTarget } from './broken-targets.ts';
import { type Child, startChild } from './child.ts';
import { createLocation, type Identified, type Place, upsertChecks } from './places.ts';
import { troubledChecks } from './sample-checks.ts';

export interface Branch {
  readonly child: Child;
  readonly place: Place;
  readonly checks: readonly Identified[];
}

/** Runs an agent with another resolv.conf than this machine's. */
export function withResolver(resolvConf: string): string[] {
  const mounted = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  const ownRoot = process.getuid?.() === 0 ? [] : ['-Ur'];
  return ['unshare', ...ownRoot, '-m', 'sh', '-c', mounted, resolvConf];
}

/**
 * Starts a second location, whose resolver is down and whose agent gets no processor time when it needs it: problems
 * that are not the target's fault. It needs its own mount namespace; without support for that, it is left out.
 */
export async function startBranch(options: {
  readonly api: ApiClient;
  readonly stateDir: string;
  readonly baseUrl: string;
  /** The program that contains the agent. */
  readonly cli: string;
  /** The port of the shop. */
  readonly http: number;
  /** From an earlier start. */
  readonly place: Place | null;
  /** Names of samples that earlier starts created. */
  readonly known: readonly string[];
}): Promise<Branch | undefined> {
  const { api, stateDir, baseUrl, cli, http, known } = options;
  const resolver = join(stateDir, 'resolv.conf');
  writeFileSync(resolver, 'nameserver 127.0.0.253\noptions timeout:1 attempts:1\n');
  const wrapper = withResolver(resolver);
  const [program = '', ...args] = wrapper;
  if (spawnSync(program, [...args, 'true'], { stdio: 'ignore' }).status !== 0) return undefined;
  const place =
    options.place ?? (await createLocation(api, { name: 'Branch office with troubles', slugName: 'branch' }));
  const spool = join(stateDir, 'spool-branch');
  mkdirSync(spool, { recursive: true, mode: 0o700 });
  const child = startChild({
    name: 'branch',
    script: cli,
    args: ['agent'],
    environment: {
      API_KEY: place.key,
      SERVICE_URL: baseUrl,
      AGENT_HEALTH_PORT: '0',
      SPOOL_DIR: spool,
      // Without scripts it needs no sandbox, which takes memory.
      CHECK_TYPES: 'DNS,ICMP,SSL,TCP,UDP,URL',
    },
    logFile: join(stateDir, 'branch.log'),
    wrapper,
  });
  const starving = await startStarvingTarget((isHeld) => {
    child.process.kill(isHeld ? 'SIGSTOP' : 'SIGCONT');
  });
  const checks = await upsertChecks(api, troubledChecks({ http, starving: starving.port }), {
    place: 'branch',
    known,
  });
  return { child, place, checks };
}
