import { expect, it } from 'vitest';
import { RunStop } from './run-stop.ts';

it('calls its listeners once, with the first reason', () => {
  const stop = new RunStop();
  const calls: unknown[] = [];
  const gone = () => calls.push('gone');
  stop.addEventListener('abort', () => calls.push(stop.reason));
  stop.addEventListener('abort', gone);
  stop.addEventListener('abort', () => calls.push(stop.aborted));
  stop.removeEventListener('abort', gone);
  expect(stop.aborted).toBe(false);
  stop.abort('cancelled');
  stop.abort('lost');
  expect([stop.aborted, stop.reason, calls]).toEqual([true, 'cancelled', ['cancelled', true]]);
});
