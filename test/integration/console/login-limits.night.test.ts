import { expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { expectOneCountOfGuesses } from '../../helpers/service/login-guesses.ts';
import { openHarness, temporaryFolder } from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';

it('counts of login attempts continue after a restart, and the allowance returns with time', async () => {
  const folder = temporaryFolder();
  const clock = new ManualClock();
  let harness = await openHarness({ folder: folder.path, clock });
  let requests = 0;
  try {
    await expectOneCountOfGuesses(harness, async () => {
      requests += 1;
      // Twice while one address guesses, and once before all others do.
      if (requests === 5 || requests === 11 || requests === 13) {
        await harness.close();
        harness = await openHarness({ folder: folder.path, clock });
      }
      return harness;
    });
    const visitor = new Visitor(harness.app, { address: '192.0.2.7' });
    const ask = async () => (await visitor.post('/login/forgotten', { email: 'x@example.com' })).status;
    expect(await ask()).toBe(429);
    clock.advance(6_000);
    expect([await ask(), await ask()]).toEqual([200, 429]);
    // A clock that was ahead and was corrected blocks an allowance for no longer than the window.
    clock.advance(-3_600_000);
    expect(await ask()).toBe(200);
  } finally {
    await harness.close();
    folder.remove();
  }
});
