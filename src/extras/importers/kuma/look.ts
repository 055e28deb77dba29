import type { Fields } from '@picket/protocol/projects/kind.ts';

/** The type-specific part of a check; fields that all monitors share are added to it. */
export interface Look {
  readonly checkType: string;
  readonly fields: Fields;
}
