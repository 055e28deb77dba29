import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';

type Visibility = NonNullable<WindowDefinition['statusPageVisibility']>;

/** A component of a status page, as far as its place on the page goes. */
export interface Placed {
  readonly id: string;
  readonly parent_id: string | null;
}

/** What a status page shows. */
export interface PageParts {
  readonly serviceIds: readonly string[];
  readonly components: readonly Placed[];
}

/** Of all components of a page, the ids of those that are chosen, and of what is in them. */
export function withParts<Component extends Placed>(
  components: readonly Component[],
  isChosen: (component: Component) => boolean,
): ReadonlySet<string> {
  const byId = new Map(components.map((one) => [one.id, one]));
  const isWithin = (one: Component | undefined): boolean =>
    one !== undefined && (isChosen(one) || (one.parent_id !== null && isWithin(byId.get(one.parent_id))));
  return new Set(components.filter(isWithin).map(({ id }) => id));
}

/** Of all components of a page, the ids of those that it leaves out: hidden ones, with what is in them. */
export function hiddenAmong(
  components: readonly (Placed & { readonly hidden: 0 | 1 })[],
): ReadonlySet<string> {
  return withParts(components, ({ hidden }) => hidden === 1);
}

/** Those of some services that a maintenance concerns. */
export function affectedServices(
  { affectAllServices, serviceIds }: Visibility,
  shown: readonly string[],
): string[] {
  const named = lowerCase(serviceIds);
  return affectAllServices ? [...shown] : shown.filter((id) => named.has(id));
}

/** Those of the components of a page that a maintenance concerns: those that it names, with what is in them. */
export function affectedComponents(
  { affectAllServices, componentIds }: Visibility,
  shown: readonly Placed[],
): ReadonlySet<string> {
  const named = lowerCase(componentIds);
  return withParts(shown, ({ id }) => affectAllServices || named.has(id));
}

/**
 * Whether a page shows a maintenance: the pages that it names, or without names every page of the account
 * that shows a service or a component it concerns.
 */
export function isShownOn(visibility: Visibility, pageId: string, parts: PageParts): boolean {
  if (visibility.statusPageIds.length > 0) return lowerCase(visibility.statusPageIds).has(pageId);
  return (
    visibility.affectAllServices ||
    affectedServices(visibility, parts.serviceIds).length > 0 ||
    affectedComponents(visibility, parts.components).size > 0
  );
}

function lowerCase(ids: readonly string[]): ReadonlySet<string> {
  return new Set(ids.map((id) => id.toLowerCase()));
}
