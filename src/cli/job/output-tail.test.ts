import { expect, it } from 'vitest';
import { OutputTail } from './output-tail.ts';

it('keeps the end of an output, and no part of a character', () => {
  const tail = new OutputTail(5);
  expect(String(tail.bytes())).toBe('');
  tail.add(Buffer.from('ab'));
  tail.add(Buffer.from('cd'));
  expect(String(tail.bytes())).toBe('abcd');
  for (let count = 0; count < 100; count += 1) tail.add(Buffer.from('é'));
  expect(String(tail.bytes())).toBe('éé');
  tail.add(Buffer.from('x'));
  expect(String(tail.bytes())).toBe('ééx');
});
