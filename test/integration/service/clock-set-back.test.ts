import { it } from 'vitest';
import { goOnAfterClockWasAhead } from '../../helpers/service/clock-set-back.ts';

it('proceed at their next slot after the clock was two hours ahead, on SQLite', () =>
  goOnAfterClockWasAhead());
