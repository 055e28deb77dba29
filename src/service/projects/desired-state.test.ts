import { DeploymentInput } from '@picket/protocol/projects/project.ts';
import { describe, expect, it } from 'vitest';
import { keyOf, parseDesiredState, withIds } from './desired-state.ts';
import { typeNamedBy } from './kinds/named-types.ts';

const ref = (name: string) => ({ ref: name });
const input = (resources: readonly object[], sharedFiles: readonly object[] = []) =>
  DeploymentInput.parse({ project: { logicalId: 'p', name: 'P' }, resources, sharedFiles });
const check = (logicalId: string, payload: object = {}) => ({ type: 'check', logicalId, payload });

describe('the desired state of a project', () => {
  it('puts each resource after those that it refers to, however long the chain', () => {
    const chain = Array.from({ length: 3_000 }, (_, at) =>
      check(`c${at}`, at === 2_999 ? {} : { parentCheckIds: [ref(`c${at + 1}`)] }),
    );
    const { resources } = parseDesiredState(input(chain));
    expect(resources.map(({ logicalId }) => logicalId)).toEqual(
      chain.map(({ logicalId }) => logicalId).reverse(),
    );
  });

  it('knows by its field the type that a ref means, and replaces names by ids', () => {
    const project = parseDesiredState(
      input([
        { type: 'check-group', logicalId: 'same', payload: {} },
        check('same', { groupId: ref('same') }),
      ]),
    );
    const [group, own] = project.resources;
    expect([group?.type, own?.type]).toEqual(['check-group', 'check']);
    const ids = own && withIds(own, project.names, (key) => (key === 'check-group same' ? 7 : 'other'));
    expect(ids).toEqual({ groupId: 7 });
  });

  it.each([
    ['check-group', 'tearDownSnippetId', 'snippet'],
    ['alert-channel', 'checkId', 'check'],
    ['check', 'alertChannelId', 'alert-channel'],
    ['status-page', 'services', 'status-page-service'],
    ['status-page-automation-rule', 'componentId', 'status-page-component'],
    ['maintenance-window', 'statusPageIds', 'status-page'],
    ['private-location-group-assignment', 'privateLocationId', 'private-location'],
    ['check', 'constructor', undefined],
  ] as const)('knows that in a %s %s refers to a %s', (type, field, named) => {
    expect(typeNamedBy(type, field)).toBe(named);
  });

  it('gives checks the files that they refer to, and the locations that they are assigned to', () => {
    const { resources } = parseDesiredState(
      input(
        [
          check('c', { dependencies: [1], setupScriptDependencies: [0, 1] }),
          { type: 'private-location', logicalId: 'l', payload: {} },
          {
            type: 'private-location-check-assignment',
            logicalId: 'a',
            payload: { checkId: ref('c'), privateLocationId: ref('l') },
          },
        ],
        [
          { path: 'a.ts', content: 'a' },
          { path: 'b.ts', content: 'b' },
        ],
      ),
    );
    expect(resources.map(keyOf)).toEqual(['private-location l', 'check c']);
    expect(resources[1]).toMatchObject({
      locations: ['l'],
      payload: {
        dependencies: [{ path: 'b.ts', content: 'b' }],
        setupScriptDependencies: [
          { path: 'a.ts', content: 'a' },
          { path: 'b.ts', content: 'b' },
        ],
      },
    });
  });

  const nested = (levels: number): object => {
    let value: object = {};
    for (let level = 0; level < levels; level += 1) value = { value };
    return value;
  };
  const large = { path: 'large.ts', content: 'x'.repeat(1_000_000) };

  it.each([
    [
      'a circle',
      [check('a', { parentCheckIds: [ref('b')] }), check('b', { parentCheckIds: [ref('a')] })],
      [],
      'refers to itself in a circle: "a" → "b" → "a"',
    ],
    ['a ref to itself', [check('a', { parentCheckIds: [ref('a')] })], [], 'in a circle: "a" → "a"'],
    [
      'a ref to nothing',
      [check('a', { groupId: ref('x') })],
      [],
      'check "a": "groupId" names no check-group',
    ],
    ['a name that stands twice', [check('a'), check('a')], [], 'stands twice: check "a"'],
    [
      'an index of no file',
      [check('a', { dependencies: [3] })],
      [],
      '"dependencies.0" is not an index of sharedFiles: 3',
    ],
    ['deep nesting', [check('a', nested(100_000))], [], 'is nested deeper than 64 levels'],
    [
      'a file that a hundred checks make large',
      Array.from({ length: 100 }, (_, at) => check(`c${at}`, { dependencies: [0] })),
      [large],
      'makes the project too large',
    ],
    [
      'a member with the id of another resource',
      [{ ...check('a'), physicalId: '3f0d5f8e-0000-4000-8000-000000000000' }],
      [],
      '"physicalId" is only for resources with "member": false',
    ],
  ])('refuses %s', (_name, resources, files, message) => {
    expect(() => parseDesiredState(input(resources, files))).toThrow(message);
  });

  it.each(['../up.ts', '/etc/passwd', 'a/../../b.ts', 'a\\b.ts', 'C:/x.ts', 'a\0.ts'])(
    'refuses a file at %j',
    (path) => {
      expect(() => input([], [{ path, content: '' }])).toThrow('must be relative and stay below');
    },
  );
});
