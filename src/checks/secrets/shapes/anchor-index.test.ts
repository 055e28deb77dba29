import { expect, it } from 'vitest';
import { AnchorIndex } from './anchor-index.ts';
import type { SecretShape } from './shape.ts';

const shapeOf = (anchor: Buffer): SecretShape => ({
  anchor,
  reachBackBytes: 0,
  reachForwardBytes: anchor.length,
  rangesAt: (_bytes, start) => [{ start, end: start + anchor.length }],
});

/** Where the index finds anchors, and where they really are. */
function places(anchors: readonly Buffer[], bytes: Buffer): [number[], number[]] {
  const found: number[] = [];
  new AnchorIndex(anchors.map(shapeOf)).forEachAnchor(bytes, (_shape, at) => found.push(at));
  const there = anchors.flatMap((anchor) => {
    const all: number[] = [];
    for (let at = bytes.indexOf(anchor); at >= 0; at = bytes.indexOf(anchor, at + 1)) all.push(at);
    return all;
  });
  return [found.sort((a, b) => a - b), there.sort((a, b) => a - b)];
}

const utf32 = (text: string) => Buffer.from(Array.from(text, (one) => [one.charCodeAt(0), 0, 0, 0]).flat());
const low = utf32('correct');

it.each([
  ['UTF-32, low byte first', [low]],
  ['UTF-32, high byte first', [Buffer.from(low).swap32()]],
  ['UTF-32 and text', [low, Buffer.from(low).swap32(), Buffer.from('correct-horse')]],
  ['zeros', [Buffer.concat([Buffer.from('ab'), Buffer.alloc(6), Buffer.from('cd')]), low]],
])('finds anchors of %s between runs of zeros', (_name, anchors) => {
  const pieces: Buffer[] = [];
  for (let zeros = 0; zeros < 12; zeros += 1) {
    for (const anchor of anchors) pieces.push(Buffer.alloc(zeros), anchor, Buffer.from('x'), anchor);
  }
  pieces.push(Buffer.alloc(20));
  const [found, there] = places(anchors, Buffer.concat(pieces));
  expect(there.length).toBeGreaterThan(20);
  expect(found).toEqual(there);
});
