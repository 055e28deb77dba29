import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxedEnd, SandboxedProcess } from '../sandbox.ts';
import { Spares, type SparesOptions } from './spares.ts';

interface FakeSpare {
  readonly place: string;
  readonly process: SandboxedProcess;
  readonly load: (isLoaded: boolean) => void;
  readonly end: () => void;
}

/** Spares whose processes are told what to do; whoever waits for the next to be started is told of it. */
class Stage {
  readonly started: FakeSpare[] = [];
  readonly released: FakeSpare[] = [];
  readonly spares: Spares<string, FakeSpare>;
  readonly #waiters = new Set<() => void>();
  #idleMs = 0;

  constructor(options: Partial<SparesOptions<string, FakeSpare>> = {}) {
    this.spares = new Spares<string, FakeSpare>({
      maxCount: 3,
      countPerKind: 1,
      patienceMs: 0,
      maxAgeMs: 60_000,
      kindOf: (place) => place,
      hasRoom: () => true,
      idleMs: () => {
        this.#idleMs += 1e6;
        return this.#idleMs;
      },
      start: async (place) => {
        const loaded = Promise.withResolvers<boolean>();
        const ended = Promise.withResolvers<SandboxedEnd>();
        const spare: FakeSpare = {
          place,
          process: { ended: ended.promise } as unknown as SandboxedProcess,
          load: loaded.resolve,
          end: () => ended.resolve({} as SandboxedEnd),
        };
        this.started.push(spare);
        this.#tell();
        return { waiting: spare, loaded: loaded.promise };
      },
      release: (spare) => {
        this.released.push(spare);
        spare.load(false);
        this.#tell();
      },
      ...options,
    });
  }

  async until(what: () => boolean): Promise<void> {
    while (!what()) await new Promise<void>((resolve) => this.#waiters.add(resolve));
    // What follows from it in the same turn has happened then.
    await new Promise((resolve) => setImmediate(resolve));
  }

  async startedNumber(count: number): Promise<FakeSpare> {
    await this.until(() => this.started.length >= count);
    const spare = this.started[count - 1];
    if (!spare) throw new Error('it was started');
    return spare;
  }

  #tell(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

let stage: Stage;
afterEach(() => stage.spares.close());

describe('spares', () => {
  it('are kept for what was asked for, and replaced when a run took one', async () => {
    stage = new Stage();
    expect(stage.spares.take('browser')).toBeUndefined();
    const first = await stage.startedNumber(1);
    first.load(true);
    expect(stage.spares.take('browser')).toBe(first);
    const second = await stage.startedNumber(2);
    expect(second.place).toBe('browser');
    second.load(true);
  });

  it('are given out while they load: a new process would have loaded less', async () => {
    stage = new Stage();
    stage.spares.want('browser');
    const first = await stage.startedNumber(1);
    expect(stage.spares.take('browser')).toBe(first);
    // The next is begun although nobody ever hears whether the first has loaded.
    const second = await stage.startedNumber(2);
    expect(stage.spares.take('browser')).toBe(second);
    expect(stage.released).toEqual([]);
    (await stage.startedNumber(3)).load(true);
  });

  it('leave the processors to a run that has a loaded one, until it is over', async () => {
    stage = new Stage({ patienceMs: 60_000 });
    stage.spares.want('browser');
    const first = await stage.startedNumber(1);
    first.load(true);
    // Loaded is what it has told.
    await new Promise((resolve) => setImmediate(resolve));
    stage.spares.take('browser');
    // Several looks long: that nothing happens cannot be waited for otherwise.
    await new Promise((resolve) => setTimeout(resolve, 350));
    expect(stage.started).toHaveLength(1);
    stage.spares.runEnded();
    (await stage.startedNumber(2)).load(true);
  });

  it('are loaded one at a time, the kind that has none first', async () => {
    stage = new Stage({ countPerKind: 2 });
    stage.spares.want('a');
    stage.spares.want('b');
    const first = await stage.startedNumber(1);
    expect(stage.started).toHaveLength(1);
    first.load(true);
    const second = await stage.startedNumber(2);
    expect(second.place).not.toBe(first.place);
    second.load(true);
    (await stage.startedNumber(3)).load(true);
    await stage.spares.close();
    expect(stage.started).toHaveLength(3);
    expect(stage.released).toHaveLength(3);
  });

  it('of kinds wanted one after the other begin with the last one, and are filled when all have loaded', async () => {
    stage = new Stage({ patienceMs: 1000 });
    stage.spares.want('browser');
    stage.spares.want('plain');
    let isFilled = false;
    const filled = stage.spares.filled().then(() => {
      isFilled = true;
    });
    const first = await stage.startedNumber(1);
    expect(first.place).toBe('plain');
    first.load(true);
    const second = await stage.startedNumber(2);
    expect(second.place).toBe('browser');
    expect(isFilled).toBe(false);
    second.load(true);
    await filled;
  });

  it('that do not load are given back, and not begun again at once', async () => {
    stage = new Stage();
    stage.spares.want('browser');
    (await stage.startedNumber(1)).load(false);
    await stage.until(() => stage.released.length === 1);
    expect(stage.spares.take('other')).toBeUndefined();
    expect(stage.released[0]?.place).toBe('browser');
    (await stage.startedNumber(2)).load(true);
  });

  it('that die are given back and never given out', async () => {
    stage = new Stage();
    stage.spares.want('browser');
    const first = await stage.startedNumber(1);
    first.load(true);
    first.end();
    await stage.until(() => stage.released.includes(first));
    expect(stage.spares.take('browser')).not.toBe(first);
  });

  it('grow old', async () => {
    stage = new Stage({ maxAgeMs: -1 });
    stage.spares.want('browser');
    const first = await stage.startedNumber(1);
    first.load(true);
    await stage.until(() => stage.released.includes(first));
  });

  it('are not started where the host has no memory for them', async () => {
    const asked = Promise.withResolvers<void>();
    stage = new Stage({
      hasRoom: () => {
        asked.resolve();
        return false;
      },
    });
    stage.spares.want('browser');
    await asked.promise;
    await stage.spares.close();
    expect(stage.started).toHaveLength(0);
  });

  it('all end when they are closed, the one that loads too', async () => {
    stage = new Stage();
    stage.spares.want('browser');
    const first = await stage.startedNumber(1);
    await stage.spares.close();
    expect(stage.released).toEqual([first]);
  });
});
