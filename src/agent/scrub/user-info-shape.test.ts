import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { userInfoShapes } from '@picket/checks/secrets/shapes/credentials/user-info-shape.ts';
import { describe, expect, it } from 'vitest';
import { scrubBytes } from './files/scrub-bytes.ts';

const finder = new SecretFinder([], userInfoShapes());
const clean = (text: string) => scrubBytes(Buffer.from(text), { finder, mask: '***' }).bytes.toString();

describe('user info in URLs of files', () => {
  it.each([
    ['GET https://user:pass@host/path?a=b@c', 'GET https://***@host/path?a=b@c'],
    ['https://user@host', 'https://***@host'],
    ['postgres://u:p@ss@db:5432/x', 'postgres://***@db:5432/x'],
    ['{"url":"https:\\/\\/u:p@host\\/"}', '{"url":"https:\\/\\/***@host\\/"}'],
    ['?next=https%3A%2F%2Fu%3Ap%40host%2Fa%40b', '?next=https%3A%2F%2F***%40host%2Fa%40b'],
    ['?next=https%3a%2f%2fu%3ap%40host', '?next=https%3a%2f%2f***%40host'],
    ['https://[::1]:80/ https://me:x@[::1]:80/', 'https://[::1]:80/ https://***@[::1]:80/'],
  ])('%s becomes %s', (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it.each([
    'https://host/a@b',
    'https://host?to=me@host',
    'see https://host, mail me@host',
    '<a href="https://host">me@host</a>',
    '?next=https%3A%2F%2Fhost%2Fa%40b&mail=me%40host',
    `https://${'a'.repeat(2000)}@host`,
    'https://@host',
    '://',
  ])('%s stays', (text) => {
    expect(clean(text)).toBe(text);
  });
});
