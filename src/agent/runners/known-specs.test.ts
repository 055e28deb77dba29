import { checkTypes, findCheckType } from '@picket/checks/index.ts';
import { expect, it } from 'vitest';
import { KnownSpecs } from './known-specs.ts';

function typeOf(name: string) {
  const type = findCheckType(name);
  if (!type) throw new Error(`no type ${name}`);
  return type;
}

it('reads a specification once, and returns what the schema returns', () => {
  const specs = new KnownSpecs();
  const spec = (url: string) => ({ request: { url, headers: [{ key: 'a', value: 'b' }] } });
  const first = specs.read(typeOf('URL'), spec('http://a'));
  expect(first).toEqual(typeOf('URL').spec.safeParse(spec('http://a')));
  expect(specs.read(typeOf('URL'), spec('http://a')).data).toBe(first.data);
  expect(specs.read(typeOf('URL'), spec('http://b')).data).not.toEqual(first.data);
  expect(specs.read(typeOf('API'), spec('http://a')).data).not.toBe(first.data);
});

it('keeps nothing that a run could change for the next', () => {
  const specs = new KnownSpecs();
  const { data } = specs.read(typeOf('URL'), { request: { url: 'http://a' } });
  const request = data?.request as { url: string };
  expect(() => {
    request.url = 'http://b';
  }).toThrow(TypeError);
});

it('refuses what the schemas refuse, each time', () => {
  const specs = new KnownSpecs();
  for (const type of checkTypes) {
    const wrong = { request: { url: 1 } };
    expect(specs.read(type, wrong).success).toBe(type.spec.safeParse(wrong).success);
    expect(specs.read(type, wrong).success).toBe(type.spec.safeParse(wrong).success);
  }
});
