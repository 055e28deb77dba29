import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SandboxMechanism } from '../../../src/sandbox/mechanism.ts';
import type { SandboxedEnd } from '../../../src/sandbox/sandbox.ts';
import { systemProgram } from '../../../src/sandbox/supervisor/launch.ts';
import { sampleOf } from '../../helpers/night.ts';
import { abuseCases, abuseLimits } from './abuse-cases.ts';

interface Verdict {
  readonly name: string;
  readonly output: string;
  readonly outputBytes: number;
  readonly end: SandboxedEnd;
  readonly opened: readonly string[];
  readonly next: string;
  readonly nextEnd: SandboxedEnd;
  readonly planted: readonly string[];
}

/** By day half of them under the mechanism of most agents, and fewer under the others. */
const casesUnder = (mechanism: SandboxMechanism) =>
  sampleOf(abuseCases, mechanism === 'uid+namespaces' ? 38 : 8);

const isRoot = process.getuid?.() === 0;
const plainUid = 12_399;
const variants: readonly { readonly mechanism: SandboxMechanism; readonly asRoot: boolean }[] = [
  { mechanism: 'uid+namespaces', asRoot: true },
  { mechanism: 'uid', asRoot: true },
  { mechanism: 'user-namespaces', asRoot: false },
];

/** In namespaces scripts have their own /tmp, which hides a checkout below /tmp: the agent refuses to start then. */
const isHidden = /^\/(?:tmp|dev\/shm)\//.test(import.meta.dirname);

describe.each(variants.filter(({ mechanism }) => mechanism === 'uid' || !isHidden))(
  'abuse under $mechanism',
  ({ mechanism, asRoot }) => {
    const cases = casesUnder(mechanism);
    const canary = `canary-${randomUUID()}`;
    const verdicts = new Map<string, Verdict>();
    let base: string;
    let agent: ChildProcess | undefined;
    let agentErrors = '';
    let exitCode: number | null = null;

    beforeAll(async () => {
      if (asRoot && !isRoot) return;
      base = mkdtempSync('/var/tmp/picket-abuse-');
      chmodSync(base, 0o755);
      mkdirSync(join(base, 'private', 'spool'), { recursive: true });
      writeFileSync(join(base, 'private', 'key'), canary, { mode: 0o600 });
      writeFileSync(join(base, 'private', 'spool', 'entry'), canary, { mode: 0o600 });
      chmodSync(join(base, 'private', 'spool'), 0o700);
      const isLowered = isRoot && !asRoot;
      if (isLowered) {
        const owned = ['', 'private', 'private/key', 'private/spool', 'private/spool/entry'];
        for (const path of owned) chownSync(join(base, path), plainUid, plainUid);
      }
      const main = join(import.meta.dirname, 'abuse-main.ts');
      // A copy: below /tmp the checkout's own folder would be hidden by the /tmp of scripts.
      const code = join(base, 'code');
      mkdirSync(code);
      writeFileSync(join(code, 'cli.ts'), 'the agent');
      const names = JSON.stringify(cases.map(({ name }) => name));
      const args = [main, mechanism, base, canary, code, names];
      const lowered = [
        `--reuid=${plainUid}`,
        `--regid=${plainUid}`,
        '--clear-groups',
        process.execPath,
        ...args,
      ];
      const left = openSync(join(base, 'private', 'key'), 'r');
      agent = spawn(isLowered ? systemProgram('setpriv') : process.execPath, isLowered ? lowered : args, {
        env: { API_KEY: canary },
        // Descriptor 20 stands for one that was left open by mistake.
        stdio: ['ignore', 'pipe', 'pipe', ...Array.from({ length: 17 }, () => 'ignore' as const), left],
      });
      agent.stderr?.on('data', (chunk) => {
        agentErrors += chunk;
      });
      const exited = new Promise<number | null>((resolve) => agent?.once('exit', resolve));
      if (!agent.stdout) throw new Error('no output');
      for await (const line of createInterface({ input: agent.stdout })) {
        const verdict: Verdict = JSON.parse(line);
        verdicts.set(verdict.name, verdict);
      }
      exitCode = await exited;
    }, 180_000);

    afterAll(() => {
      agent?.kill('SIGKILL');
      if (base) rmSync(base, { recursive: true, force: true });
    });

    it.skipIf(asRoot && !isRoot)('leaves the agent alive to the end', () => {
      expect({ exitCode, agentErrors }).toEqual({ exitCode: 0, agentErrors: '' });
      expect(verdicts.size).toBe(cases.length + 1);
    });

    it.skipIf(asRoot && !isRoot).each(cases)('$name', (abuse) => {
      const verdict = verdicts.get(abuse.name);
      if (!verdict) throw new Error(`the agent did not get here: ${agentErrors}`);
      expect(verdict.output).not.toContain('ESCAPED');
      expect(verdict.output).not.toContain(canary);
      expect(verdict.opened).toEqual([]);
      expect(verdict.planted).toEqual([]);
      const ends = asRoot ? abuse.ends : (abuse.endsAsSameUser ?? abuse.ends);
      expect(ends ?? ['exited']).toContain(verdict.end.reason);
      expect(verdict.end.problem).toBeUndefined();
      if (abuse.prints !== undefined) expect(verdict.output).toContain(abuse.prints);
      expect(verdict.outputBytes).toBeLessThanOrEqual(abuseLimits.outputBytes);
      expect(verdict.nextEnd).toMatchObject({ reason: 'exited', exitCode: 0, signal: null });
      const next = JSON.parse(verdict.next);
      expect(next).toEqual({ folder: ['.tmp', 'main.cjs'], left: [], processes: [], ipc: [] });
    });
  },
);
