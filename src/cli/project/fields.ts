/** Fields of a file, or of the API. */
export type Fields = Readonly<Record<string, unknown>>;

/** The folders of a project: what is in one is of one kind. */
export const folders = [
  'locations',
  'alert-channels',
  'services',
  'groups',
  'checks',
  'status-pages',
  'maintenance-windows',
  'dashboards',
] as const;
export type Folder = (typeof folders)[number];
