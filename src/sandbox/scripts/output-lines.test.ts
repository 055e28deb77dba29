import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OutputLines } from './output-lines.ts';

function linesOf(pieces: readonly (Buffer | string)[]): string[] {
  const lines: string[] = [];
  const output = new OutputLines((_stream, line) => lines.push(line));
  for (const piece of pieces) output.add('stdout', piece);
  output.end();
  return lines;
}

it('yields the same lines for any pieces', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'é', '日', '🙂', '\n', ' '), maxLength: 60 }),
      fc.array(fc.nat(200), { maxLength: 20 }),
      (text, cuts) => {
        const bytes = Buffer.from(text);
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        const lines = text.split('\n');
        if (lines.at(-1) === '') lines.pop();
        expect(linesOf(pieces)).toEqual(lines);
        expect(linesOf([...text])).toEqual(lines);
      },
    ),
  );
});

it('keeps the streams apart', () => {
  const lines: string[] = [];
  const output = new OutputLines((stream, line) => lines.push(`${stream}: ${line}`));
  output.add('stdout', 'one ');
  output.add('stderr', 'two ');
  output.add('stdout', 'line\n');
  output.end();
  expect(lines).toEqual(['stdout: one line', 'stderr: two ']);
});

it('keeps the beginning of a line that is too long, and marks the omission', () => {
  const [first, second, ...rest] = linesOf([...Array.from({ length: 30 }, () => 'x'.repeat(1000)), '\nnext']);
  expect(first).toBe(`${'x'.repeat(8192)}…`);
  expect(second).toBe('next');
  expect(rest).toEqual([]);
});

it('removes colour codes, even if a piece ends inside one', () => {
  expect(linesOf(['a\u001b[3', '1mb\u001b[', '0mc'])).toEqual(['abc']);
});
