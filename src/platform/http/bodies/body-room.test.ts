import { expect, it } from 'vitest';
import { BodyRoom } from './body-room.ts';

const mebibyte = 1024 * 1024;
const never = new AbortController().signal;

it('limits a sender to its part, lets others in meanwhile, and continues in order', async () => {
  const room = new BodyRoom();
  const order: string[] = [];
  const enter = async (name: string, sender: string, bytes: number, gone = never) => {
    const leave = await room.enter(sender, bytes, gone);
    order.push(name);
    return leave;
  };
  const first = await enter('first', 'greedy', 60 * mebibyte);
  const second = enter('second', 'greedy', mebibyte);
  const gone = new AbortController();
  const third = enter('third', 'greedy', mebibyte, gone.signal);
  const others = await Promise.all(['a', 'b', 'c'].map((name) => enter(name, name, 16 * mebibyte)));
  const late = enter('late', 'd', 16 * mebibyte);
  expect(order).toEqual(['first', 'a', 'b', 'c']);
  gone.abort();
  (await third)();
  others[0]?.();
  await late;
  first();
  first();
  (await second)();
  expect(order).toEqual(['first', 'a', 'b', 'c', 'third', 'late', 'second']);
  (await late)();
  for (const leave of others) leave();
  (await enter('alone', 'e', 16 * mebibyte))();
});
