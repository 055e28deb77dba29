import { ProjectInput } from '@picket/protocol/projects/project.ts';
import { describe, expect, it } from 'vitest';
import { ServiceConfig } from './config.ts';

const problemsOf = (settings: Readonly<Record<string, string>>) =>
  (ServiceConfig.safeParse(settings).error?.issues ?? []).map(({ path, message }) => [
    path.join('.'),
    message,
  ]);

describe('the address of the service', () => {
  it.each(['PUBLIC_URL', 'ARTIFACTS_URL'])('%s is refused where only a part of it would work', (name) => {
    for (const [text, reason] of [
      ['https://example.com/picket', /must have no path: "\/picket"/],
      ['https://example.com/?a=1', /no "\?"/],
      ['https://example.com/#a', /no "#"/],
      ['https://me:secret@example.com', /not contain a user name/],
      ['ftp://example.com', /http or https/],
    ] as const) {
      expect(problemsOf({ [name]: text })).toEqual([[name, expect.stringMatching(reason)]]);
    }
    for (const text of ['https://example.com', 'http://example.com:8080/']) {
      expect(problemsOf({ [name]: text })).toEqual([]);
    }
  });
});

describe('the name of a project', () => {
  const isTaken = (logicalId: string) => ProjectInput.safeParse({ logicalId, name: 'x' }).success;

  it('can be part of a path', () => {
    for (const logicalId of ['.', '..']) expect(isTaken(logicalId)).toBe(false);
    for (const logicalId of ['shop', 'a.b', '...', 'team/shop', 'shop#1', '.hidden']) {
      expect(isTaken(logicalId)).toBe(true);
    }
  });
});
