import type { Fields } from '@picket/protocol/projects/kind.ts';
import { kindIn } from '@picket/protocol/projects/kinds.ts';
import { mapEnvironmentValues } from './environment-values.ts';
import { type Definition, type Project, pathOf } from './project.ts';
import { toApi } from './references.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A resource in the form that deployments accept. */
export interface ProjectResource {
  readonly type: string;
  readonly logicalId: string;
  readonly member: true;
  readonly payload: Fields;
  readonly sourceFile: string;
}

/** A variable that a file names and the environment lacks. */
export interface UnsetValue {
  readonly variable: string;
  readonly file: string;
}

/**
 * Converts the files of a project to the resources of a deployment: names become refs, channels and locations of checks
 * and groups become resources of their own. A value that the environment lacks becomes "", which keeps an existing
 * value.
 */
export function resourcesOf(
  { definitions }: Pick<Project, 'definitions'>,
  environment: Environment,
): { readonly resources: readonly ProjectResource[]; readonly unset: readonly UnsetValue[] } {
  const unset: UnsetValue[] = [];
  const slugs = new Map(
    definitions.flatMap(({ folder, logicalId, fields }) =>
      folder === 'locations' ? [[String(fields['slugName'] ?? logicalId), logicalId] as const] : [],
    ),
  );
  const resources = definitions.flatMap((definition) => {
    const filled = mapEnvironmentValues(definition.fields, ({ name }) => {
      const value = environment[name];
      if (value === undefined) unset.push({ variable: name, file: pathOf(definition) });
      return value ?? '';
    }) as Fields;
    return resourcesOfOne(definition, filled, slugs);
  });
  return { resources, unset };
}

function resourcesOfOne(
  { folder, logicalId }: Definition,
  filled: Fields,
  slugs: ReadonlyMap<string, string>,
): ProjectResource[] {
  const kind = kindIn(folder);
  const sourceFile = pathOf({ folder, logicalId });
  const owner = folder === 'groups' ? 'group' : 'check';
  const resource = (type: string, id: string, payload: Fields): ProjectResource => ({
    ...{ type, logicalId: id, member: true, payload, sourceFile },
  });
  const { alertChannels = [], privateLocations, ...rest } = filled;
  const isRunner = folder === 'checks' || folder === 'groups';
  // In lists of a deployment, an id is not wrapped in an object.
  const references = kind.references
    .filter(({ file }) => !isRunner || file !== 'alertChannels')
    .map(({ item: _, ...reference }) => reference);
  const payload = toApi(references, isRunner ? rest : filled, (_to, name) => ({ ref: String(name) }));
  if (!isRunner) return [resource(kind.type, logicalId, payload)];
  const ofOwner = { [folder === 'groups' ? 'groupId' : 'checkId']: { ref: logicalId } };
  const places = Array.isArray(privateLocations) ? privateLocations.map(String) : [];
  const others = places.filter((slug) => !slugs.has(slug));
  return [
    resource(kind.type, logicalId, {
      ...payload,
      ...(privateLocations === undefined ? {} : { privateLocations: others }),
    }),
    ...places.flatMap((slug) => {
      const location = slugs.get(slug);
      if (location === undefined) return [];
      const type = `private-location-${owner}-assignment`;
      return [
        resource(type, `${owner}/${logicalId}#${location}`, {
          ...ofOwner,
          privateLocationId: { ref: location },
        }),
      ];
    }),
    ...(Array.isArray(alertChannels) ? alertChannels : []).map((written: unknown) => {
      const { name, activated } =
        typeof written === 'object' && written !== null
          ? (written as { name: string; activated?: boolean })
          : { name: String(written), activated: true };
      return resource(
        'alert-channel-subscription',
        `${kind.type}-alert-channel-subscription#${logicalId}#${name}`,
        {
          ...{ alertChannelId: { ref: name }, ...ofOwner, activated: activated ?? true },
        },
      );
    }),
  ];
}
