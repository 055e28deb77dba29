import { beforeEach, describe, expect, it } from 'vitest';
import type { Repositories } from '../../../../src/platform/store/repositories.ts';
import type { StoreStage } from './stage.ts';

/** Longer than a slice, so that the next pause takes effect. */
function work(): void {
  const endsAtMs = performance.now() + 40;
  while (performance.now() < endsAtMs);
}

/** Long transactions: other transactions run meanwhile, and each one is atomic. */
export function longTransactionSuite(stage: StoreStage): void {
  describe('long transactions', () => {
    beforeEach(() => stage.start());

    const namesOf = async ({ projects }: Pick<Repositories, 'projects'>) =>
      (await projects.list(stage.harness.accountId)).map(({ name }) => name).sort();
    const projectNamed = (name: string) => ({
      id: crypto.randomUUID(),
      account_id: stage.harness.accountId,
      logical_id: name,
      name,
      repo_url: null,
      created: 0,
      updated: null,
    });
    const never = async () => 0;

    it('let others read and write before their end, and show them nothing until then', async () => {
      const { store } = stage.harness;
      const seen: number[] = [];
      let isOtherDone = false;
      const long = store.longTransaction(async (repositories, pause) => {
        for (const name of ['a', 'b', 'c']) {
          await repositories.projects.insert(projectNamed(name));
          work();
          await pause();
          // Its own writes are visible after each pause.
          seen.push((await namesOf(repositories)).length);
        }
        while (!isOtherDone) {
          work();
          await pause();
          await namesOf(repositories);
        }
      }, never);
      const other = await stage.harness.addAccount();
      const seenByOthers = await namesOf(store);
      isOtherDone = true;
      await long;
      expect(seenByOthers).toEqual([]);
      expect(seen).toEqual([1, 2, 3]);
      expect(await namesOf(store)).toEqual(['a', 'b', 'c']);
      expect(await store.accounts.find(other.accountId)).toBeDefined();
    });

    it('do not restart if others add rows that are counted, too', async () => {
      const { store } = stage.harness;
      const other = await stage.harness.addAccount();
      const channelOf = (account_id: string) =>
        ({
          account_id,
          type: 'WEBHOOK',
          definition: '{}',
          created: 0,
          updated: null,
        }) as unknown as Parameters<typeof store.alertChannels.insert>[0];
      let begun = 0;
      const others: Promise<{ id: number }>[] = [];
      const own = await store.longTransaction(async ({ alertChannels }, pause) => {
        begun += 1;
        const ids: number[] = [];
        for (let number = 0; number < 4; number += 1) {
          ids.push((await alertChannels.insert(channelOf(stage.harness.accountId))).id);
          // Not awaited: on SQLite it waits for the pause.
          others.push(store.alertChannels.insert(channelOf(other.accountId)));
          work();
          await pause();
        }
        return ids;
      }, never);
      const ids = [...own, ...(await Promise.all(others)).map(({ id }) => id)];
      expect(begun).toBe(1);
      expect(new Set(ids).size).toBe(8);
      expect((await store.alertChannels.all(stage.harness.accountId)).map(({ id }) => id)).toEqual(own);
    });

    it('leave nothing when they fail after a pause', async () => {
      const { store } = stage.harness;
      const failing = store.longTransaction(async ({ projects }, pause) => {
        await projects.insert(projectNamed('a'));
        work();
        await pause();
        throw new Error('refused');
      }, never);
      await expect(failing).rejects.toThrow('refused');
      expect(await namesOf(store)).toEqual([]);
      expect((await stage.harness.addAccount()).accountId).toBeDefined();
    });

    it('end with the changes of others in a pause, and with their own', async () => {
      const { store } = stage.harness;
      const stored = projectNamed('stored');
      await store.projects.insert(stored);
      let isChanged = false;
      const long = store.longTransaction(
        async ({ projects }, pause) => {
          const found = await projects.find(stage.harness.accountId, 'stored');
          await projects.insert(projectNamed(`after ${found?.name}`));
          work();
          await pause();
          await projects.update(stored.id, { name: 'long', repo_url: null, updated: 1 });
        },
        async ({ projects }) => (await projects.find(stage.harness.accountId, 'stored'))?.name,
      );
      const change = store.projects
        .update(stored.id, { name: 'changed', repo_url: null, updated: 1 })
        .then(() => {
          isChanged = true;
        });
      await Promise.all([long, change]);
      expect(isChanged).toBe(true);
      // On SQLite it restarted; on PostgreSQL either may be first. No change is lost, and no row is duplicated.
      const names = await namesOf(store);
      expect(names).toHaveLength(2);
      expect(names.some((name) => name.startsWith('after '))).toBe(true);
    });
  });
}
