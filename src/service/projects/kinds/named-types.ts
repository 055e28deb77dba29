import type { Reference } from '@picket/protocol/projects/kind.ts';
import { type KindName, kindIn, kinds } from '@picket/protocol/projects/kinds.ts';
import { type ProjectResourceType, partTypes } from '@picket/protocol/projects/project.ts';

const ofChecks = { privateLocationId: 'private-location', checkId: 'check' } as const;
const ofGroups = { privateLocationId: 'private-location', groupId: 'check-group' } as const;
const ofParts: Readonly<Record<(typeof partTypes)[number], Readonly<Record<string, KindName>>>> = {
  'alert-channel-subscription': {
    alertChannelId: 'alert-channel',
    checkId: 'check',
    groupId: 'check-group',
  },
  'private-location-check-assignment': ofChecks,
  'private-location-group-assignment': ofGroups,
};

type Meaning = readonly [field: string, type: KindName];

/** Fields whose refs name a resource of one type, by the type of the payload. */
const fieldsOfTypes: ReadonlyMap<ProjectResourceType, ReadonlyMap<string, KindName>> = new Map([
  ...kinds.map(({ type, references }) => [type, new Map(references.flatMap(meanings))] as const),
  ...partTypes.map((type) => [type, new Map(Object.entries(ofParts[type]))] as const),
]);

function meanings({ api, item, to }: Reference): Meaning[] {
  const { type } = kindIn(to);
  const meaning: Meaning = [api.split('.').at(-1) ?? api, type];
  return item === undefined ? [meaning] : [meaning, [item, type]];
}

/**
 * The type of resource that a ref in a field names. Undefined if it may be any: then names must be unique across types.
 *
 * @param type of the payload. A field that its kind does not know means the same as in other kinds.
 */
export function typeNamedBy(type: ProjectResourceType, field: string): KindName | undefined {
  const own = fieldsOfTypes.get(type)?.get(field);
  if (own !== undefined) return own;
  const elsewhere = new Set([...fieldsOfTypes.values()].flatMap((fields) => fields.get(field) ?? []));
  return elsewhere.size === 1 ? [...elsewhere][0] : undefined;
}
