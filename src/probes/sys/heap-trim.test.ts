import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { loadHeapTrim } from './heap-trim.ts';
import { loadKoffi } from './libc.ts';

const residentKb = () => Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

it.runIf(process.platform === 'linux')('gives back what is free between what is not', async () => {
  const koffi = await loadKoffi();
  const program = koffi.load(null);
  const allocate = program.func('void *malloc(size_t)');
  const write = program.func('void *memset(void *, int, size_t)');
  const free = program.func('void free(void *)');
  // Small enough for the heap, which the C library gives back from its end only: every fourth stays.
  const sizeBytes = 100_000;
  const blocks = Array.from({ length: 1200 }, () => {
    const block = allocate(sizeBytes);
    write(block, 1, sizeBytes);
    return block;
  });
  for (const [index, block] of blocks.entries()) if (index % 4 !== 0) free(block);
  const beforeKb = residentKb();
  const trim = await loadHeapTrim();
  if (!trim) throw new Error('this C library has no malloc_trim');
  await trim();
  expect(beforeKb - residentKb()).toBeGreaterThan(60_000);
  for (const [index, block] of blocks.entries()) if (index % 4 === 0) free(block);
});
