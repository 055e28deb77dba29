import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';

type Visibility = NonNullable<WindowDefinition['statusPageVisibility']>;

/** A component of a status page, with its position in the hierarchy. */
export interface Placed {
  readonly id: string;
  readonly parent_id: string | null;
}

/** Services and components that a page shows. */
export interface PageParts {
  readonly serviceIds: readonly string[];
  readonly components: readonly Placed[];
}

/** Ids of the chosen components of a page and all components within them. */
export function withParts<Component extends Placed>(
  components: readonly Component[],
  isChosen: (component: Component) => boolean,
): ReadonlySet<string> {
  const byId = new Map(components.map((one) => [one.id, one]));
  const isWithin = (one: Component | undefined): boolean =>
    one !== undefined && (isChosen(one) || (one.parent_id !== null && isWithin(byId.get(one.parent_id))));
  return new Set(components.filter(isWithin).map(({ id }) => id));
}

/** Ids of the components that a page omits: hidden ones and all components within them. */
export function hiddenAmong(
  components: readonly (Placed & { readonly hidden: 0 | 1 })[],
): ReadonlySet<string> {
  return withParts(components, ({ hidden }) => hidden === 1);
}

/** Those of the shown services that a maintenance affects. */
export function affectedServices(
  { affectAllServices, serviceIds }: Visibility,
  shown: readonly string[],
): string[] {
  const named = lowerCase(serviceIds);
  return affectAllServices ? [...shown] : shown.filter((id) => named.has(id));
}

/** Those of the page's components that a maintenance affects: the ones that it names and all components within them. */
export function affectedComponents(
  { affectAllServices, componentIds }: Visibility,
  shown: readonly Placed[],
): ReadonlySet<string> {
  const named = lowerCase(componentIds);
  return withParts(shown, ({ id }) => affectAllServices || named.has(id));
}

/**
 * Whether a page shows a maintenance: it names the page, or, if it names no pages, affects a service or component that
 * the page shows.
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
