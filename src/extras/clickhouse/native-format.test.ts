import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeBlocks, encodeBlock } from './native-format.ts';
import { fixedColumns, metricNames } from './result-table.ts';

const names = ['check', 'place', 'time'];

function blockOf(texts: readonly string[], numbers: readonly number[]): Buffer {
  const distinct = [...new Set(texts)];
  return encodeBlock(
    [
      {
        name: 'check',
        type: 'String',
        texts: { texts: distinct, index: Uint16Array.from(texts, (text) => distinct.indexOf(text)) },
      },
      { name: 'place', type: 'UInt32', values: Uint32Array.from(numbers.keys()) },
      { name: 'time', type: 'Float64', values: Float64Array.from(numbers) },
    ],
    texts.length,
  );
}

const rows = fc.array(fc.tuple(fc.string({ unit: 'binary', maxLength: 200 }), fc.double()), {
  maxLength: 300,
});

it('reads consecutive blocks as they were written', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 3 }), (blocks) => {
      const bytes = Buffer.concat(
        blocks.map((block) =>
          blockOf(
            block.map(([text]) => text),
            block.map(([, number]) => number),
          ),
        ),
      );
      const read = decodeBlocks(bytes, names).map(({ rowCount, numbers, texts }) => {
        const column = texts.get('check');
        const times = new Float64Array(new Uint8Array(numbers.get('time') ?? []).buffer);
        return Array.from({ length: rowCount }, (_none, row) => [
          column?.texts[column.index[row] ?? 0],
          times[row],
        ]);
      });
      expect(read).toEqual(blocks);
    }),
  );
});

it('refuses a response that is cut off, has other columns, or is a message', () => {
  const whole = blockOf(['a', 'b', 'a'], [1, 2, 3]);
  for (let length = 1; length < whole.length; length += 1) {
    expect(() => decodeBlocks(whole.subarray(0, length), names)).toThrow('the answer');
  }
  expect(() => decodeBlocks(whole, ['check', 'time', 'place'])).toThrow('lacks the column time');
  const message = Buffer.from('Code: 241, e.displayText() = DB::Exception: Memory limit exceeded');
  expect(() => decodeBlocks(message, names)).toThrow('other columns');
  expect(() => decodeBlocks(Buffer.concat([whole, message]), names)).toThrow('other columns');
});

it('has a separate column for every metric', () => {
  const fixed = fixedColumns.map(([name]) => name);
  const all = [...fixed, ...metricNames()].map((name) => name.toLowerCase());
  expect(new Set(all).size).toBe(all.length);
});
