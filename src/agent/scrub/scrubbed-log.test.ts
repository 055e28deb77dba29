import { expect, it } from 'vitest';
import { scrubbedLog } from './scrubbed-log.ts';
import { Scrubber } from './scrubber.ts';

it('removes secrets that its scrubber learns later, in each form, and keeps those from the start', () => {
  const lines: string[] = [];
  const scrubber = new Scrubber(['known-from-the-start']);
  const log = scrubbedLog({ write: (line) => void lines.push(line), close: async () => undefined }, scrubber);
  const write = (msg: string) => log.write(`${JSON.stringify({ level: 30, msg })}\n`);
  write('rotated-secret-1');
  scrubber.learn(['rotated-secret-1']);
  write('now rotated-secret-1, known-from-the-start');
  write(`in Base64 ${btoa('user:rotated-secret-1')}`);
  expect(lines[0]).toContain('rotated-secret-1');
  expect(lines.slice(1).join('')).not.toMatch(/rotated|known-from|dXNlcjpyb3Rh/);
});

it('forgets what it learned first when credentials change again and again, and never what it knew', () => {
  const scrubber = new Scrubber(['known-from-the-start']);
  scrubber.learn(['current-of-a-slow-secret']);
  for (let turn = 0; turn < 20; turn += 1) {
    scrubber.learn(Array.from({ length: 50 }, (_, index) => `x${turn}-${index}`));
    scrubber.learn(['current-of-a-slow-secret']);
  }
  const text = 'known-from-the-start current-of-a-slow-secret';
  expect(scrubber.text(text)).not.toMatch(/known|current/);
});
