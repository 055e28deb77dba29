import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Runtime } from '../runtimes/runtimes.ts';
import type { SandboxedEnd, SandboxedProcess } from '../sandbox.ts';
import { WarmProcesses, type WarmProcessesOptions } from './warm-processes.ts';

interface FakeProcess {
  readonly runtime: Runtime;
  readonly process: SandboxedProcess;
  readonly load: (isLoaded: boolean) => void;
  readonly end: () => void;
}

const runtime = (id: string): Runtime => ({
  id,
  directory: '',
  modulesDirectory: '',
  playwrightVersion: '',
});
const newer = runtime('2026.04');
const older = runtime('2025.04');

/** Warm processes that the test controls. */
class Stage {
  readonly started: FakeProcess[] = [];
  readonly released: FakeProcess[] = [];
  readonly warm: WarmProcesses<FakeProcess, Runtime>;
  readonly #waiters = new Set<() => void>();
  #idleMs = 0;

  constructor(options: Partial<WarmProcessesOptions<FakeProcess, Runtime>> = {}) {
    this.warm = new WarmProcesses<FakeProcess, Runtime>({
      maxCount: 3,
      countPerKind: 1,
      burstMs: 60_000,
      unusedMs: 60_000,
      patienceMs: 0,
      maxAgeMs: 60_000,
      isBusy: () => false,
      hasRoom: () => true,
      idleMs: () => {
        this.#idleMs += 1e6;
        return this.#idleMs;
      },
      start: async (wanted) => {
        const loaded = Promise.withResolvers<boolean>();
        const ended = Promise.withResolvers<SandboxedEnd>();
        const started: FakeProcess = {
          runtime: wanted,
          process: { ended: ended.promise } as unknown as SandboxedProcess,
          load: loaded.resolve,
          end: () => ended.resolve({} as SandboxedEnd),
        };
        this.started.push(started);
        this.#notify();
        return { warm: started, loaded: loaded.promise };
      },
      release: (released) => {
        this.released.push(released);
        released.load(false);
        this.#notify();
      },
      ...options,
    });
  }

  async until(what: () => boolean): Promise<void> {
    while (!what()) await new Promise<void>((resolve) => this.#waiters.add(resolve));
    // By then the consequences in the same turn have happened.
    await new Promise((resolve) => setImmediate(resolve));
  }

  async startedNumber(count: number): Promise<FakeProcess> {
    await this.until(() => this.started.length >= count);
    const process = this.started[count - 1];
    if (!process) throw new Error('it was started');
    return process;
  }

  #notify(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

let stage: Stage;
afterEach(() => stage.warm.close());

describe('warm processes', () => {
  it('are kept for runtimes of runs, and replaced when a run took one', async () => {
    stage = new Stage();
    expect(stage.warm.take(newer)).toBeUndefined();
    const first = await stage.startedNumber(1);
    first.load(true);
    expect(stage.warm.take(newer)).toBe(first);
    const second = await stage.startedNumber(2);
    expect(second.runtime).toBe(newer);
    second.load(true);
  });

  it('are handed out while they load: a new process would have loaded less', async () => {
    stage = new Stage();
    stage.warm.take(newer);
    const first = await stage.startedNumber(1);
    expect(stage.warm.take(newer)).toBe(first);
    // The next one is started although the first never reports whether it has loaded.
    const second = await stage.startedNumber(2);
    expect(stage.warm.take(newer)).toBe(second);
    expect(stage.released).toEqual([]);
    (await stage.startedNumber(3)).load(true);
  });

  it('are loaded one at a time, a runtime without any first', async () => {
    stage = new Stage({ countPerKind: 2 });
    for (const one of [newer, newer, older, older]) stage.warm.take(one);
    const first = await stage.startedNumber(1);
    expect(stage.started).toHaveLength(1);
    first.load(true);
    const second = await stage.startedNumber(2);
    expect(second.runtime).not.toBe(first.runtime);
    second.load(true);
    (await stage.startedNumber(3)).load(true);
    await stage.warm.close();
    expect(stage.started).toHaveLength(3);
    expect(stage.released).toHaveLength(3);
  });

  it('begin with the most recently used runtime', async () => {
    stage = new Stage({ patienceMs: 1000 });
    stage.warm.take(newer);
    stage.warm.take(older);
    const first = await stage.startedNumber(1);
    expect(first.runtime).toBe(older);
    first.load(true);
    const second = await stage.startedNumber(2);
    expect(second.runtime).toBe(newer);
    second.load(true);
  });

  it('wait in the number of the last minute’s runs, and none before the first', async () => {
    stage = new Stage({ countPerKind: 2 });
    expect(stage.started).toHaveLength(0);
    stage.warm.take(newer);
    (await stage.startedNumber(1)).load(true);
    await stage.until(() => true);
    expect(stage.started).toHaveLength(1);
    stage.warm.take(newer);
    (await stage.startedNumber(2)).load(true);
    (await stage.startedNumber(3)).load(true);
    await stage.until(() => true);
    expect(stage.started).toHaveLength(3);
  });

  it('wait in the number of runs that came at once', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      stage = new Stage({ countPerKind: 3, maxCount: 9, burstMs: 2000 });
      for (let run = 0; run < 3; run += 1) {
        stage.warm.take(newer);
        vi.advanceTimersByTime(5000);
      }
      (await stage.startedNumber(1)).load(true);
      await stage.until(() => true);
      expect(stage.started).toHaveLength(1);
      for (let run = 0; run < 4; run += 1) stage.warm.take(older);
      for (const number of [2, 3, 4]) (await stage.startedNumber(number)).load(true);
      await stage.until(() => true);
      expect(stage.started.map(({ runtime: { id } }) => id)).toEqual([
        newer.id,
        older.id,
        older.id,
        older.id,
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are given up after the last run, and do not wait for runs that come less often', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      stage = new Stage({ unusedMs: 600_000, maxAgeMs: 3_600_000 });
      stage.warm.take(newer);
      const first = await stage.startedNumber(1);
      first.load(true);
      await stage.until(() => true);
      vi.advanceTimersByTime(599_000);
      expect(stage.released).toEqual([]);
      vi.advanceTimersByTime(1000);
      expect(stage.released).toEqual([first]);
      expect(stage.warm.take(newer)).toBeUndefined();
      await stage.until(() => true);
      expect(stage.started).toHaveLength(1);
      vi.advanceTimersByTime(60_000);
      expect(stage.warm.take(newer)).toBeUndefined();
      (await stage.startedNumber(2)).load(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it('that do not load are released, and not restarted at once', async () => {
    stage = new Stage();
    stage.warm.take(newer);
    (await stage.startedNumber(1)).load(false);
    await stage.until(() => stage.released.length === 1);
    expect(stage.warm.take(older)).toBeUndefined();
    expect(stage.released[0]?.runtime).toBe(newer);
    (await stage.startedNumber(2)).load(true);
  });

  it('that die are released and never handed out', async () => {
    stage = new Stage();
    stage.warm.take(newer);
    const first = await stage.startedNumber(1);
    first.load(true);
    first.end();
    await stage.until(() => stage.released.includes(first));
    expect(stage.warm.take(newer)).not.toBe(first);
  });

  it('are replaced when they are old', async () => {
    stage = new Stage({ maxAgeMs: -1 });
    stage.warm.take(newer);
    const first = await stage.startedNumber(1);
    first.load(true);
    await stage.until(() => stage.released.includes(first));
  });

  it('are not started if the host lacks the memory', async () => {
    const asked = Promise.withResolvers<void>();
    stage = new Stage({
      hasRoom: () => {
        asked.resolve();
        return false;
      },
    });
    stage.warm.take(newer);
    await asked.promise;
    await stage.warm.close();
    expect(stage.started).toHaveLength(0);
  });

  it('are not started while runs wait for a processor', async () => {
    let isBusy = true;
    const asked = Promise.withResolvers<void>();
    stage = new Stage({
      isBusy: () => {
        asked.resolve();
        return isBusy;
      },
    });
    stage.warm.take(newer);
    await asked.promise;
    expect(stage.started).toHaveLength(0);
    isBusy = false;
    (await stage.startedNumber(1)).load(true);
  });

  it('all end when they are closed, including the loading one', async () => {
    stage = new Stage();
    stage.warm.take(newer);
    const first = await stage.startedNumber(1);
    await stage.warm.close();
    expect(stage.released).toEqual([first]);
  });
});
